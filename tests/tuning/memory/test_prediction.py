"""What all trials take, what of a site networks see, sums of terms, bytes as text."""

import pytest

from common.units import GIB, KIB, MIB
from tests.tuning.algorithms.memory_checks import assignment, predicted
from tuning.algorithms.memory import Workload
from tuning.algorithms.registry import algorithm
from tuning.memory.prediction import Prediction, Term, predict, problem_of, size
from tuning.memory.scenario_sizes import Sizes

TERMS = (Term("weights", "vram", 100, ""), Term("process", "ram", 1000, ""), Term("buffer", "ram", 3000, "", "buffer_size"))


def test_each_place_has_its_own_sum_and_correction() -> None:
    found = Prediction(TERMS, correction=(2.0, 0.5))
    assert (found.uncorrected("vram"), found.uncorrected("ram")) == (100, 4000)
    assert (found.vram, found.ram) == (200, 2000)


def test_without_a_gpu_there_is_no_gpu_memory() -> None:
    assert Prediction(TERMS[1:]).vram == 0


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


@pytest.mark.parametrize("algo", ["ppo", "a2c", "sac"])
def test_on_the_cpu_everything_is_on_the_host(algo: str) -> None:
    found = predicted(algo, assignment(algo), gpu=False)
    assert {"process", "scenario years", "copies of the site", "evaluation", "activations"} <= {t.name for t in found.terms}
    assert all(t.place == "ram" for t in found.terms)


def test_lessons_are_counted_where_a_teacher_gives_some() -> None:
    sizes = Sizes(40, 5, 0, 0, 1, 100, 0, 0, 0, 0)
    h, spec = assignment("ppo"), algorithm("ppo")
    plain, taught = (predict(spec, h, Workload(4, 1000, 2, 1, False, lessons=given), sizes) for given in ((), (168,) * 6))
    (own,) = (each for each in taught.terms if each not in plain.terms)
    # Observations, actions and labels at least.
    assert own.place == "ram"
    assert own.nbytes >= 4 * 6 * 168 * (40 + 2 * 5)
    assert [each for each in taught.terms if each != own] == list(plain.terms)
