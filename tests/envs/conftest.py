"""Fixtures of the environments: the small site's year as arrays."""

from pathlib import Path

import pytest

from envs.batch_backend.tables import Tables
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.citylearn_backend.tables import read_tables
from envs.environments.year_cache import schema_reward


@pytest.fixture(scope="session")
def small_tables(small_schema: Path) -> Tables:
    """Tables of the small site; tests that change arrays change copies."""
    return read_tables(CityLearnSimulator(small_schema, with_reward=False), schema_reward(small_schema))
