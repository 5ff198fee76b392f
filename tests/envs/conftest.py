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
def quarters(small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Schema of the small site in steps of a quarter of an hour: a load of their own, sessions as long as they were."""
    import numpy as np
    import pandas as pd

    def change(schema: dict[str, Any]) -> None:
        schema["seconds_per_time_step"] = 900
        schema["simulation_end_time_step"] = 4 * schema["simulation_end_time_step"] + 3
        schema["observations"]["minutes"] = {"active": True, "shared_in_central_agent": True}

    path = edited(small_schema, tmp_path_factory.mktemp("quarters"), change)
    for file in path.parent.glob("*.csv"):
        hours = pd.read_csv(file)
        rows, quarter = hours.loc[hours.index.repeat(4)].reset_index(drop=True), np.tile(np.arange(4), len(hours))
        if "non_shiftable_load" in rows:
            rows["non_shiftable_load"] *= 0.1 + 0.1 * quarter
            rows["minutes"] = 15 * quarter
        for column in rows.columns.intersection(["electric_vehicle_departure_time", "electric_vehicle_estimated_arrival_time"]):
            rows[column] = np.where(rows[column] > 0, 4 * rows[column] - quarter, rows[column])
        rows.to_csv(file, index=False)
    return path


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
