"""Limits of a building's connection are read as CityLearn has them."""

from pathlib import Path
from typing import Any

import numpy as np

from envs.citylearn_backend.connection import read_connection, shown_phases
from envs.citylearn_backend.simulator import CityLearnSimulator, check_repeats
from tests.envs.schema_changes import edited


def opened(small_schema: Path, folder: Path, entry: dict[str, Any]) -> CityLearnSimulator:
    path = edited(small_schema, folder, lambda schema: schema["buildings"]["mall"].update(entry))
    return CityLearnSimulator(path, with_reward=False)


def test_a_building_without_limits(small_schema: Path, tmp_path: Path) -> None:
    (building,) = opened(small_schema, tmp_path, {}).env.buildings
    kind, shows, phases, limit, *_ = read_connection(building)
    assert (kind, shows, phases) == (0, False, 0)
    assert np.isnan(limit).all()
    assert shown_phases(building) == {}


def test_what_was_asked_for_beyond_the_limits_does_not_outlive_a_run(small_schema: Path, tmp_path: Path) -> None:
    limit = {"electrical_service": {"limits": {"total": {"import_kw": 0.0}}}}
    check_repeats(opened(small_schema, tmp_path, limit))
