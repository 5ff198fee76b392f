"""Reads a scenario year from CityLearn's objects into the batch simulator's tables.

What CityLearn makes of its files (defaults, drawn attributes, float32, vehicles' schedules) is taken from its own objects.
So none of its loading is repeated here, and none of it can differ.
"""

from __future__ import annotations

import numpy as np

from envs.batch_backend.tables import Tables
from envs.citylearn_backend.devices import battery_parameters, building_parameters, charger_parameters
from envs.citylearn_backend.meters import read_comfort, read_meters
from envs.citylearn_backend.observations import read_observations
from envs.citylearn_backend.schedule import read_schedule
from envs.citylearn_backend.series import tanks
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.errors import ScenarioError


def read_tables(simulator: CityLearnSimulator, reward: tuple[str, str]) -> Tables:
    """Tables of the year that a simulator has open; it starts a run of the whole year.

    Args:
        simulator: of the year, and `envs.batch_backend.unsupported` finds no missing feature in its schema.
        reward: name of the schema's reward function and its attributes as JSON.

    Raises:
        ScenarioError: if the scenario has a feature that the backend lacks and that only CityLearn's objects show.
    """
    simulator.begin(0, simulator.rows - 1, seed=0)  # the series are cut to an episode, so it spans them all
    buildings, vehicles = simulator.env.buildings, simulator.env.electric_vehicles
    batteries = [*(b.electrical_storage for b in buildings), *(v.battery for v in vehicles)]
    for device in (*batteries, *buildings):
        if not isinstance(device.time_step_ratio, np.float64) or device.time_step_ratio != 1.0:
            raise ScenarioError(f"{simulator.schema_path}: its series are not hourly, which the batch backend cannot step")
    template, observed = read_observations(simulator)
    return Tables(
        names=tuple(simulator.observation_names),
        site={**battery_parameters(batteries), **charger_parameters(simulator), **building_parameters(simulator),
              "observed": observed},
        rows={"template": template, "meter": read_meters(simulator), "comfort": read_comfort(simulator),
              **read_schedule(simulator)},
        initial_soc=np.array([battery.initial_soc for battery in batteries], dtype=np.float64),
        initial_tank=np.array([[t.initial_soc for t in tanks(b)] for b in buildings], dtype=np.float64),
        depth_of_discharge=np.array([b.electrical_storage.depth_of_discharge for b in buildings], dtype=np.float64),
        exogenous=simulator.exogenous,
        sessions=simulator.sessions,
        reward=reward,
    )  # fmt: skip
