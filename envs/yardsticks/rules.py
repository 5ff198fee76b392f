"""Rules that policies are compared with: PV first, and CityLearn's own controllers that know the hour alone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from envs.cache import cached_file
from envs.citylearn_backend.simulator import SIMULATORS, read_rules
from envs.current_hour import Present, scaled
from envs.environments.split_layout import same_buildings
from envs.scenarios.scenario import Scenario, Split

VERSION = 1  # part of the cache's key of CityLearn's rules


class SolarPriority:
    """PV serves load and vehicles first; batteries store the surplus and return it when the site imports.

    Vehicles charge as on the uncontrolled site. So the surplus or deficit of an hour is the uncontrolled site's export or
    import. The batteries share it in proportion to their power. It knows nothing of the next hour.
    """

    def __init__(self, present: Present, dear_hours: bool = True) -> None:
        """Create the rule; with `dear_hours`, batteries give only in hours in which imports cost most.

        Raises:
            ValueError: if there is no battery that can be controlled.
        """
        self._present, self._dear_hours = present, dear_hours
        if present.battery_power_kw <= 0.0:
            raise ValueError("the solar-priority rule moves energy by batteries, and no battery has an action here")

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        """Actions of the hour within [-1, 1], shape (copies, actions)."""
        present = self._present
        actions = present.uncontrolled_actions()
        net = present.uncontrolled_net_kwh
        if self._dear_hours:
            net = np.where(present.is_dear, net, np.minimum(net, 0.0))
        low, high = (limit[present.battery_actions] for limit in present.action_range)
        wanted = np.clip(-net / present.battery_power_kw, -1.0, 1.0)[:, np.newaxis]
        actions[:, present.battery_actions] = scaled(wanted, low, high)
        return actions


class HourlyRule:
    """A controller that acts by the hour of the day alone, for the environment that `present` belongs to."""

    def __init__(self, present: Present, actions: np.ndarray) -> None:
        """Take actions of each hour of the day in CityLearn's ranges, shape (24, actions); clipped to what a device can do."""
        self._present, self._scaled = present, scaled(actions, *present.action_range)

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        """Actions of the hour within [-1, 1], shape (copies, actions)."""
        actions: np.ndarray = self._scaled[self._present.hour_of_day]
        return actions


def citylearn_rules(scenario: Scenario, split: Split = "train") -> dict[str, np.ndarray]:
    """The controllers that have a rule for every device of a split, by class; read from CityLearn once and cached.

    Returns:
        Actions of each hour of the day in CityLearn's ranges, each of shape (24, actions).
    """
    read: Split = "train" if same_buildings(scenario, split) else split

    def write(path: Path) -> None:
        with SIMULATORS.lend(scenario.schema_path(scenario.years(read)[0]), trusted=scenario.trusted) as simulator:
            path.write_text(json.dumps(read_rules(simulator)), encoding="utf-8")

    name = "citylearn-rules" if read == "train" else f"citylearn-rules-{read}"
    path = cached_file(f"{scenario.key}/{name}-v{VERSION}.json", write)
    return {name: np.array(table) for name, table in json.loads(path.read_text(encoding="utf-8")).items()}
