"""Power outages that CityLearn draws from a seeded model: once for all rows of a scenario, so that they belong to hours.

CityLearn draws them anew for each episode and by its length, so the same hour would have power in one run and none in another,
and it stops where an episode has no whole days. Over all rows of a scenario of whole days the outages are CityLearn's own.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from common.units import DAY


@contextmanager
def drawn_for_any_length() -> Iterator[None]:
    """Let CityLearn draw outages for a last day that is cut short, as if it were whole."""
    from citylearn.power_outage import ReliabilityMetricsPowerOutage

    draw = ReliabilityMetricsPowerOutage.get_signals

    def whole_days(model: Any, time_steps: int, seconds_per_time_step: float, **rest: Any) -> np.ndarray:
        day = DAY * round(3600 / seconds_per_time_step)
        signals: np.ndarray = draw(model, math.ceil(time_steps / day) * day, seconds_per_time_step, **rest)
        return signals[:time_steps]

    ReliabilityMetricsPowerOutage.get_signals = whole_days
    try:
        yield
    finally:
        ReliabilityMetricsPowerOutage.get_signals = draw


def fix_outages(buildings: Sequence[Any]) -> None:
    """Make series of the outages that were drawn for an episode of all rows; called within `drawn_for_any_length`."""
    for building in buildings:
        if building.simulate_power_outage and building.stochastic_power_outage:
            rows = building.energy_simulation.power_outage
            model, seconds = building.stochastic_power_outage_model, building.seconds_per_time_step
            rows[:] = model.get_signals(len(rows), seconds_per_time_step=seconds)
            building.stochastic_power_outage = False
