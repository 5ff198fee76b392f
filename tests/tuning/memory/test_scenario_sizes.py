"""Sizes of a scenario against the arrays themselves."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from envs.environments.seen_year import seen_layout
from envs.environments.year_cache import district
from envs.scenarios.scenario import Splits, scenario
from envs.seen import Seen
from envs.task import Task
from tests.envs.tanks import with_tank
from tuning.algorithms.networks.building_kinds import BuildingKinds
from tuning.algorithms.networks.building_view import BuildingViewEnv
from tuning.memory.prediction import problem_of
from tuning.memory.scenario_sizes import CITYLEARN_BYTES_EACH, TEMPLATE, _arrays, sizes_of


def test_lengths_and_bytes_are_read_from_the_headers_alone(tmp_path: Path) -> None:
    path = tmp_path / "tables.npz"
    np.savez(path, rows_meter=np.zeros((24, 3)), flag=np.array(1, np.int32), **{TEMPLATE: np.zeros((24, 8), np.float32)})
    assert _arrays(path) == {"rows_meter": (24, 24 * 3 * 8), "flag": (1, 4), TEMPLATE: (24, 24 * 8 * 4)}


def test_a_site_is_as_large_as_its_environment_says(small_schema: Path) -> None:
    task = Task(str(small_schema))
    found, env = sizes_of(task), task.training_env(2)
    assert (found.observations,) == env.single_observation_space.shape
    assert (found.actions,) == env.single_action_space.shape
    assert (found.chargers, found.training_years) == (4, 1)
    assert found.sessions > 0
    assert found.copy_bytes > found.observations * 4


def test_the_longest_range_stands_for_all_that_a_trial_opens(small_schema: Path) -> None:
    whole = sizes_of(Task(str(small_schema)))
    task = Task(str(small_schema), splits=Splits(("0-7", "10-19"), ("20-22", "25-29"), ("30-39",)))
    found = sizes_of(task)
    # Two ranges train and two validate, and one that validates always counts. The longest: seven days before five.
    assert found.training_years == 3
    assert found.year_bytes < whole.year_bytes * 13 / 40
    assert sizes_of(task.by("citylearn")).year_bytes == CITYLEARN_BYTES_EACH * 12 * 24 * found.observations


@pytest.mark.parametrize("learned", [False, True])
def test_a_policy_for_single_buildings_sees_and_moves_what_is_predicted(four_buildings: Path, learned: bool) -> None:
    found, site = sizes_of(Task(str(four_buildings))), district(scenario(str(four_buildings)))
    assert found.buildings
    assert site
    seen = BuildingViewEnv(Task(str(four_buildings)).training_env(2), site, BuildingKinds.of(site, learned))
    problem = problem_of({"shared_policy": True, "learn_charging": learned}, found)
    assert (problem.observations,) == (problem.inputs,) == seen.single_observation_space.shape
    assert (problem.actions,) == seen.single_action_space.shape
    assert 2 * problem.agents == seen.num_envs
    assert problem.chargers == 0
    whole = problem_of({"shared_policy": False, "learn_charging": learned}, found)
    assert whole.agents == 1


def test_a_single_building_has_no_such_sizes(small_schema: Path) -> None:
    found = sizes_of(Task(str(small_schema)))
    assert found.buildings is None
    given = {"learn_charging": False}
    assert problem_of({**given, "shared_policy": True}, found) == problem_of({**given, "shared_policy": False}, found)


def test_citylearn_steps_a_year_without_tables(small_schema: Path) -> None:
    task = Task(str(small_schema), backend="citylearn")
    found = sizes_of(task)
    hours = sum(window.hours for window in task.site.windows("train"))
    assert found.year_bytes == CITYLEARN_BYTES_EACH * hours * found.observations
    assert (found.sessions, found.joined_bytes, found.copy_bytes) == (0, 0, 0)


def test_a_plan_shows_what_tanks_do_too(small_schema: Path, tmp_path: Path) -> None:
    task, seen = Task(str(with_tank(small_schema, tmp_path, cooling=True, twin=True))), Seen(plan="yesterday")
    plain = sizes_of(task)
    assert plain.tanks == ("cooling", "dhw")
    assert plain.seeing(seen).observations == seen_layout(task.site, seen).size
    assert plain.seeing(seen).observations > replace(plain, tanks=()).seeing(seen).observations
