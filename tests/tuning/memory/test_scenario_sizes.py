"""Sizes of a scenario against the arrays themselves."""

from pathlib import Path

import numpy as np

from envs.environments.factory import training_env
from envs.scenarios.scenario import Splits, scenario
from tuning.memory.scenario_sizes import CITYLEARN_BYTES_EACH, TEMPLATE, _arrays, sizes_of


def test_lengths_and_bytes_are_read_from_the_headers_alone(tmp_path: Path) -> None:
    path = tmp_path / "tables.npz"
    np.savez(path, rows_meter=np.zeros((24, 3)), flag=np.array(1, np.int32), **{TEMPLATE: np.zeros((24, 8), np.float32)})
    assert _arrays(path) == {"rows_meter": (24, 24 * 3 * 8), "flag": (1, 4), TEMPLATE: (24, 24 * 8 * 4)}


def test_a_site_is_as_large_as_its_environment_says(small_schema: Path) -> None:
    site = scenario(str(small_schema))
    found = sizes_of(site, "batch")
    env = training_env(str(small_schema), "batch", 2, "improvement")
    assert (found.observations,) == env.single_observation_space.shape
    assert (found.actions,) == env.single_action_space.shape
    assert (found.chargers, found.training_years) == (4, 1)
    assert found.sessions > 0
    assert found.copy_bytes > found.observations * 4


def test_the_longest_range_stands_for_all_that_a_trial_opens(small_schema: Path) -> None:
    whole = sizes_of(scenario(str(small_schema)), "batch")
    site = scenario(str(small_schema), splits=Splits(("0-7", "10-19"), ("20-22", "25-29"), ("30-39",)))
    found = sizes_of(site, "batch")
    # Two ranges train and two validate, and one that validates always counts. The longest: seven days before five.
    assert found.training_years == 3
    assert found.year_bytes < whole.year_bytes * 13 / 40
    assert sizes_of(site, "citylearn").year_bytes == CITYLEARN_BYTES_EACH * 12 * 24 * found.observations


def test_citylearn_steps_a_year_without_tables(small_schema: Path) -> None:
    site = scenario(str(small_schema))
    found = sizes_of(site, "citylearn")
    hours = sum(window.hours for window in site.windows("train"))
    assert found.year_bytes == CITYLEARN_BYTES_EACH * hours * found.observations
    assert (found.sessions, found.joined_bytes, found.copy_bytes) == (0, 0, 0)
