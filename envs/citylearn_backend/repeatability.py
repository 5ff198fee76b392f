"""Whether runs of a site repeat: the same actions have to give the same numbers in every process, or scores mean nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from common.units import WEEK
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.errors import ScenarioError


def check_repeats(used: CityLearnSimulator) -> None:
    """Compare runs of a simulator with those of one that is built anew.

    The series of the whole year are compared. Then both take the same random actions through two weeks, the first of the year
    and one in its middle, after the used simulator has run through them with other actions. Observations, consumption and
    indoor temperatures have to be equal, bit by bit. This notices noise on series, attributes that are drawn at the start,
    dropout, models without a seed, and state that outlives a run. It does not notice what happens in other weeks alone.

    Args:
        used: simulator of the year.

    Raises:
        ScenarioError: if something differs.
    """
    new = CityLearnSimulator(used.schema_path, used.with_reward, used.trusted)
    if not all(_equal(getattr(used, part), getattr(new, part)) for part in ("exogenous", "sessions")):
        raise _error(used, "CityLearn makes other series of its files each time")
    steps = used.rows - 1
    hours = min(WEEK, steps)
    for start in sorted({0, (steps - hours) // 2}):
        for _ in _driven(used, start, hours, seed=1):
            pass
        both = zip(_driven(used, start, hours, seed=2), _driven(new, start, hours, seed=2), strict=True)
        for hour, (first, second) in enumerate(both):
            for name, values in first.items():
                if not np.array_equal(values, second[name], equal_nan=True):
                    raise _error(used, f"two runs with the same actions differ in {name} after hour {start + hour}")


def _driven(simulator: CityLearnSimulator, start: int, hours: int, seed: int) -> Iterator[dict[str, np.ndarray]]:
    """Figures of each hour under random actions."""
    rng = np.random.default_rng([seed, start])
    yield {"observations": simulator.begin(start, hours, seed=0)}
    for step in range(hours):
        observation, _ = simulator.step(rng.uniform(simulator.action_low, simulator.action_high))
        yield {
            "observations": observation,
            "consumption": simulator.net_kwh(step),
            "indoor temperatures": simulator.indoor_temperatures(step),
        }


def _equal(first: Any, second: Any) -> bool:
    """Whether two groups of arrays are equal."""
    return all(
        np.array_equal(getattr(first, field.name), getattr(second, field.name), equal_nan=True) for field in fields(first)
    )


def _error(simulator: CityLearnSimulator, what: str) -> ScenarioError:
    return ScenarioError(
        f"{simulator.schema_path}: {what}, so results could not be compared: set a random_seed, every noise_std to 0 and the "
        "dropout of dynamics to 0, and leave out models that draw without a seed"
    )
