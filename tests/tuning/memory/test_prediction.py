"""What all trials take, what of a site networks see, sums of terms, bytes as text."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from common.units import GIB, KIB, MIB
from envs.environments.seen_year import seen_layout
from envs.environments.year_cache import district
from envs.gym.source import Source
from envs.gym.task import EnvTask
from envs.scenarios.scenario import Splits, scenario
from envs.seen import Seen
from envs.task import SiteTask
from tests.envs.tanks import with_tank
from tests.tuning.algorithms.memory_checks import assignment, predicted
from tuning.algorithms.memory import Term, Workload
from tuning.algorithms.networks.building_kinds import BuildingKinds
from tuning.algorithms.networks.building_view import BuildingViewEnv
from tuning.algorithms.registry import algorithm
from tuning.memory.prediction import (
    CITYLEARN_BYTES_EACH,
    TEMPLATE,
    Prediction,
    Sizes,
    _arrays,
    predict,
    problem_of,
    size,
    sizes_of,
)

TERMS = (Term("weights", "vram", 100, ""), Term("process", "ram", 1000, ""), Term("buffer", "ram", 3000, "", "buffer_size"))


def test_each_place_has_its_own_sum_and_correction() -> None:
    found = Prediction(TERMS, correction={"vram": 2.0, "ram": 0.5})
    assert (found.uncorrected("vram"), found.uncorrected("ram")) == (100, 4000)
    assert (found.vram, found.ram) == (200, 2000)


def test_the_largest_term_is_that_of_its_place() -> None:
    assert Prediction(TERMS).largest("ram").lever == "buffer_size"
    assert Prediction(TERMS).largest("vram").name == "weights"


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [(512, "0.5 KiB"), (3 * KIB, "3.0 KiB"), (1.5 * MIB, "1.5 MiB"), (2.25 * GIB, "2.25 GiB"), (-2 * GIB, "-2.00 GiB")],
)
def test_bytes_as_text(nbytes: float, text: str) -> None:
    assert size(nbytes) == text


def test_a_gpu_takes_the_learners_terms_off_the_host() -> None:
    h = assignment("ppo")
    on_card, on_host = predicted("ppo", h), predicted("ppo", h, gpu=False)
    assert on_host.vram == 0
    moved = {term.name for term in on_host.terms} - {term.name for term in on_card.terms if term.place == "ram"}
    assert {"networks and optimizer", "activations", "rollout to learn from"} <= moved
    assert {term.name for term in on_card.terms if term.place == "vram"} >= {*moved, "CUDA context", "allocator"}


def test_sites_whose_charging_is_not_learned_are_seen_without_their_chargers() -> None:
    sizes = Sizes(
        observations=536, actions=129, chargers=128, charger_features=4, training_years=3, sessions=0,
        year_bytes=0, joined_bytes=0, single_bytes=0, copy_bytes=0,
    )  # fmt: skip
    seen = problem_of({"learn_charging": False}, sizes)
    assert (seen.observations, seen.actions, seen.inputs, seen.chargers) == (28, 1, 28, 0)
    learned = problem_of({"learn_charging": True}, sizes)
    assert (learned.observations, learned.actions, learned.inputs, learned.chargers) == (536, 129, 28, 128)


def test_an_algorithm_without_learn_charging_learns_all_actions() -> None:
    sizes = Sizes(40, 5, 4, 4, 1, 100, 0, 0, 0, 0)
    assert problem_of({}, sizes) == problem_of({"learn_charging": True}, sizes)
    assert problem_of({}, sizes).actions == 5


def test_lessons_are_counted_where_a_teacher_gives_some() -> None:
    sizes = Sizes(40, 5, 0, 0, 1, 100, 0, 0, 0, 0)
    h, spec = assignment("ppo"), algorithm("ppo")
    plain, taught = (predict(spec, h, Workload(4, 1000, 2, 1, False, lessons=given), sizes) for given in ((), (168,) * 6))
    (own,) = (each for each in taught.terms if each not in plain.terms)
    # Observations, actions and labels at least.
    assert own.place == "ram"
    assert own.nbytes >= 4 * 6 * 168 * (40 + 2 * 5)
    assert [each for each in taught.terms if each != own] == list(plain.terms)


def test_lengths_and_bytes_are_read_from_the_headers_alone(tmp_path: Path) -> None:
    path = tmp_path / "tables.npz"
    np.savez(path, rows_meter=np.zeros((24, 3)), flag=np.array(1, np.int32), **{TEMPLATE: np.zeros((24, 8), np.float32)})
    assert _arrays(path) == {"rows_meter": (24, 24 * 3 * 8), "flag": (1, 4), TEMPLATE: (24, 24 * 8 * 4)}


def test_a_site_is_as_large_as_its_environment_says(small_schema: Path) -> None:
    task = SiteTask(str(small_schema))
    found, env = sizes_of(task), task.training_env(2)
    assert (found.observations,) == env.single_observation_space.shape
    assert (found.actions,) == env.single_action_space.shape
    assert (found.chargers, found.training_years) == (4, 1)
    assert found.sessions > 0
    assert found.copy_bytes > found.observations * 4


def test_the_longest_range_stands_for_all_that_a_trial_opens(small_schema: Path) -> None:
    whole = sizes_of(SiteTask(str(small_schema)))
    task = SiteTask(str(small_schema), splits=Splits(("0-7", "10-19"), ("20-22", "25-29"), ("30-39",)))
    found = sizes_of(task)
    # Two ranges train and two validate, and one that validates always counts. The longest: seven days before five.
    assert found.training_years == 3
    assert found.year_bytes < whole.year_bytes * 13 / 40
    assert sizes_of(task.by("citylearn")).year_bytes == CITYLEARN_BYTES_EACH * 12 * 24 * found.observations


@pytest.mark.parametrize("learned", [False, True])
def test_a_policy_for_single_buildings_sees_and_moves_what_is_predicted(four_buildings: Path, learned: bool) -> None:
    found, site = sizes_of(SiteTask(str(four_buildings))), district(scenario(str(four_buildings)))
    assert found.buildings
    assert site
    seen = BuildingViewEnv(SiteTask(str(four_buildings)).training_env(2), site, BuildingKinds.of(site, learned))
    problem = problem_of({"shared_policy": True, "learn_charging": learned}, found)
    assert (problem.observations,) == (problem.inputs,) == seen.single_observation_space.shape
    assert (problem.actions,) == seen.single_action_space.shape
    assert 2 * problem.agents == seen.num_envs
    assert problem.chargers == 0
    whole = problem_of({"shared_policy": False, "learn_charging": learned}, found)
    assert whole.agents == 1


def test_a_single_building_has_no_such_sizes(small_schema: Path) -> None:
    found = sizes_of(SiteTask(str(small_schema)))
    assert found.buildings is None
    given = {"learn_charging": False}
    assert problem_of({**given, "shared_policy": True}, found) == problem_of({**given, "shared_policy": False}, found)


def test_citylearn_steps_a_year_without_tables(small_schema: Path) -> None:
    task = SiteTask(str(small_schema), backend="citylearn")
    found = sizes_of(task)
    hours = sum(window.hours for window in task.site.windows("train"))
    assert found.year_bytes == CITYLEARN_BYTES_EACH * hours * found.observations
    assert (found.sessions, found.joined_bytes, found.copy_bytes) == (0, 0, 0)


def test_a_plan_shows_what_tanks_do_too(small_schema: Path, tmp_path: Path) -> None:
    task, seen = SiteTask(str(with_tank(small_schema, tmp_path, cooling=True, twin=True))), Seen(plan="yesterday")
    plain = sizes_of(task)
    assert plain.planned == ("cooling_storage", "dhw_storage")
    assert plain.seeing(seen).observations == seen_layout(task.site, seen).size
    assert plain.seeing(seen).observations > replace(plain, planned=()).seeing(seen).observations


def test_an_environment_takes_what_its_process_was_measured_to_take() -> None:
    task = EnvTask(Source("CartPole-v1"), episodes=10)
    sizes, found = sizes_of(task), task.probe
    assert (sizes.observations, sizes.actions, sizes.training_years) == (4, 2, 0)
    h = algorithm("ppo").space.complete({})
    terms = {term.name: term for term in predict(algorithm("ppo"), h, Workload(8, 10_000, 5, 10, False), sizes).terms}
    assert terms["environment"].nbytes == found.process_bytes
    assert terms["copies"].nbytes == 8 * found.copy_bytes
    assert terms["evaluation"].nbytes == 10 * found.copy_bytes
    assert "scenario years" not in terms
