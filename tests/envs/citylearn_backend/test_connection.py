"""Limits of a building's connection are read as CityLearn has them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envs.batch_backend import records
from envs.citylearn_backend.connection import on_phases, read_connection, room_places, shown_phases
from envs.citylearn_backend.simulator import CityLearnSimulator, check_repeats
from tests.envs.schema_changes import edited

NAMES = ("motorcycle_001", "motorcycle_002", "motorcycle_003")
REST = [0] * (records.PHASES - 3)


def opened(small_schema: Path, folder: Path, entry: dict[str, Any], phases: tuple[str | None, ...] = ()) -> CityLearnSimulator:
    def change(schema: dict[str, Any]) -> None:
        mall = schema["buildings"]["mall"]
        mall |= entry
        for name, phase in zip(NAMES, phases, strict=False):
            mall["chargers"][name]["attributes"]["phase_connection"] = phase

    return CityLearnSimulator(edited(small_schema, folder, change), with_reward=False)


def limits(values: np.ndarray) -> list[list[float | None]]:
    return [[None if np.isnan(value) else float(value) for value in row] for row in values]


def test_a_building_without_limits(small_schema: Path, tmp_path: Path) -> None:
    (building,) = opened(small_schema, tmp_path, {}).env.buildings
    kind, shows, phases, limit, *_ = read_connection(building)
    assert (kind, shows, phases) == (0, False, 0)
    assert np.isnan(limit).all()
    assert shown_phases(building) == {}


def test_charging_constraints(small_schema: Path, tmp_path: Path) -> None:
    phases = [{"name": "a", "limit_kw": 3.0, "chargers": [*NAMES[:2]]}, {"name": "b", "chargers": [NAMES[2]]}]
    entry = {"building_limit_kw": 4.0, "phases": phases, "observations": {"violation": False, "phase_encoding": True}}
    simulator = opened(small_schema, tmp_path, {"charging_constraints": entry})
    (building,) = simulator.env.buildings
    kind, shows, count, limit, *_ = read_connection(building)
    assert (kind, shows, count) == (records.CHARGING_LIMITS, False, 2)
    assert limits(limit)[:3] == [[4.0, None], [3.0, None], [None, None]]
    on = {charger.charger_id: on_phases(building, charger)[:2] for charger in simulator.chargers}
    assert [on[name] for name in NAMES] == [[1, 0], [1, 0], [0, 1]]
    shown = {name for name in simulator.observation_names if name.startswith("charging")}
    assert shown <= room_places(building, 0).keys() | shown_phases(building).keys()
    assert shown_phases(building)["charging_phase_one_hot_motorcycle_001_a"][0] == 1.0


@pytest.mark.parametrize(
    ("split", "battery", "on"),
    [("balanced", None, [3, 3, 3]), ("L2", "L3", [0, 1, 0])],
)
def test_an_electrical_service_of_three_phases(
    split: str, battery: str | None, on: list[int], small_schema: Path, tmp_path: Path
) -> None:
    total, one = {"import_kw": 9.0, "export_kw": 2.0}, {"import_kw": 5.0}
    entry = {"mode": "three_phase", "default_split": split, "limits": {"total": total, "per_phase": {"L2": one}}}

    def change(schema: dict[str, Any]) -> None:
        schema["buildings"]["mall"]["electrical_storage"]["attributes"]["phase_connection"] = battery

    edited(small_schema, tmp_path / "site", change)
    simulator = opened(
        tmp_path / "site/schema.json", tmp_path / "other", {"electrical_service": entry}, ("L1", None, "all_phases")
    )
    (building,) = simulator.env.buildings
    kind, shows, count, limit, base, own = read_connection(building)
    assert (kind, shows, count) == (records.SERVICE, True, 3)
    assert limits(limit)[:4] == [[9.0, 2.0], [None, None], [5.0, None], [None, None]]
    assert base == on + REST
    assert own == ([0, 0, 1] if battery else [3, 3, 3]) + REST
    assert [on_phases(building, charger)[:3] for charger in simulator.chargers[:3]] == [[1, 0, 0], [3, 3, 3], [3, 3, 3]]


def test_a_single_phase_has_all(small_schema: Path, tmp_path: Path) -> None:
    (building,) = opened(small_schema, tmp_path, {"electrical_service": {"mode": "single_phase"}}).env.buildings
    _, _, count, _, base, own = read_connection(building)
    assert count == 1
    assert base[:2] == own[:2] == [1, 0]


def test_what_was_asked_for_beyond_the_limits_does_not_outlive_a_run(small_schema: Path, tmp_path: Path) -> None:
    limit = {"electrical_service": {"limits": {"total": {"import_kw": 0.0}}}}
    check_repeats(opened(small_schema, tmp_path, limit))
