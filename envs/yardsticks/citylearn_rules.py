"""CityLearn's own rule-based controllers: an action for each device and hour of the day, whatever the site does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from envs.cache import cached_file
from envs.current_hour import Present, scaled
from envs.environments.year_cache import SIMULATORS
from envs.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from envs.citylearn_backend.simulator import CityLearnSimulator

VERSION = 1  # part of the cache's key
HOURS = 24
CLASSES = ("BasicRBC", "OptimizedRBC", "BasicBatteryRBC", "BasicElectricVehicleRBC_ReferenceController")
_UNKNOWN_ACTION = "Unknown action name"  # what they say of a device that they have no rule for


class HourlyRule:
    """A controller that acts by the hour of the day alone, for the environment whose present hour it looks at."""

    def __init__(self, present: Present, actions: np.ndarray) -> None:
        """Make the rule.

        Args:
            present: hour of the environment that it controls.
            actions: of each hour of the day, as CityLearn takes them, shape (24, actions); what a device cannot do is cut off.
        """
        self._present, self._scaled = present, scaled(actions, *present.action_range)

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        """Actions of the hour.

        Args:
            observations: not used; shape (copies, observations).

        Returns:
            Within [-1, 1], shape (copies, actions).
        """
        found: np.ndarray = self._scaled[self._present.hour_of_day]
        return found


def citylearn_rules(scenario: Scenario) -> dict[str, np.ndarray]:
    """The controllers that know all devices of a scenario, by class; read from CityLearn the first time and cached.

    Returns:
        Actions of each hour of the day, 0 to 23, as CityLearn takes them, each of shape (24, actions).
    """

    def write(path: Path) -> None:
        simulator = SIMULATORS.take(scenario.schema_path(scenario.years("train")[0]))
        path.write_text(json.dumps(_read(simulator)), encoding="utf-8")
        SIMULATORS.give_back(simulator)

    path = cached_file(f"{scenario.key}/citylearn-rules-v{VERSION}.json", write)
    return {name: np.array(table) for name, table in json.loads(path.read_text(encoding="utf-8")).items()}


def _read(simulator: CityLearnSimulator) -> dict[str, list[list[float]]]:
    from citylearn.agents import rbc

    found: dict[str, list[list[float]]] = {}
    for name in CLASSES:
        try:
            agent = getattr(rbc, name)(simulator.env)
        except ValueError as error:
            if _UNKNOWN_ACTION not in str(error):
                raise
            continue
        # CityLearn counts the hours of a day from 1 to 24.
        (by_device,), (devices,) = agent.action_map, agent.action_names
        found[name] = [[float(by_device[device][hour + 1]) for device in devices] for hour in range(HOURS)]
    return found
