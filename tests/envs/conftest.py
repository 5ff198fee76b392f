"""Fixtures of the environments: the small site's year as arrays, and the site with vehicles over night."""

import csv
from pathlib import Path
from typing import Any

import pytest

from envs.batch_backend.tables import Tables
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.citylearn_backend.tables import read_tables
from envs.environments.year_cache import schema_reward
from envs.scenarios.scenario import Scenario, scenario
from tests.envs.schema_changes import edited


@pytest.fixture(scope="session")
def site(small_schema: Path) -> Scenario:
    """The small site."""
    return scenario(str(small_schema))


@pytest.fixture(scope="session")
def small_tables(small_schema: Path) -> Tables:
    """Tables of the small site; tests that change arrays change copies."""
    return read_tables(CityLearnSimulator(small_schema, with_reward=False), schema_reward(small_schema))


ROWS, NAMES = 8761, ("motorcycle_001", "motorcycle_002", "motorcycle_003")
_COLUMNS = (
    "state", "id", "departure_time", "required_soc_departure", "estimated_arrival_time", "estimated_soc_arrival",
)  # fmt: skip


@pytest.fixture(scope="session")
def overnight(small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Schema of the small site whose motorcycles stay from seven to seven, take eight hours to charge, and can be emptied."""

    def change(schema: dict[str, Any]) -> None:
        mall = schema["buildings"]["mall"]
        for name in NAMES:
            mall["chargers"][name]["attributes"]["max_discharging_power"] = 2.0
            vehicle = schema["electric_vehicles_def"][name]
            vehicle["battery"]["attributes"] |= {"capacity": 30.0, "loss_coefficient": 1e-3}

    path = edited(small_schema, tmp_path_factory.mktemp("overnight"), change)
    for number, name in enumerate(NAMES):
        with (path.parent / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([f"electric_vehicle_{column if column != 'state' else 'charger_state'}" for column in _COLUMNS])
            for row in range(ROWS):
                hour = row % 24
                left = 7 - hour if hour < 7 else 31 - hour if hour >= 19 else 0
                arrives = row == 0 or hour == 19
                there = [1, name, left, 0.8, "", 0.2 + 0.1 * number if arrives else ""]
                writer.writerow(there if left else [3, "", "", "", "", ""])
    return path
