"""The best few and the default are trained again with the same fresh seeds, as far as the budget pays for whole rounds."""

from pathlib import Path

import optuna
import pytest

from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings
from tuning.search.confirmation import MOST_CONTENDERS, NOT_TRIED, Confirmation
from tuning.search.drawing import REFUSED, SAME_AS
from tuning.search.study import StudyMemory
from tuning.trial.proposal import Proposal

SPACE = algorithm("ppo").space
STEPS, RUNG = 1000, 100
LIMITS = {"steps": float(STEPS)}
DEFAULT = algorithm("ppo").preset("default", {}, LIMITS)


@pytest.fixture
def memory(tmp_path: Path) -> StudyMemory:
    """A study with the default, 0.1, and frozen trials with 0.2, 0.3 and 0.4 after half of their steps."""
    experiment = create(Settings(name="one", dir=str(tmp_path), steps=STEPS, reports=10, sampler="random"))
    memory = StudyMemory.open(experiment, SPACE, {}, LIMITS, [DEFAULT])
    for number in range(4):
        assert memory.ask().number == number
        memory.report(number, RUNG, 0.5)  # what counts is the last
        memory.report(number, 5 * RUNG, 0.1 * (number + 1))
        memory.freeze(number)
    return memory


CONFIRMATION = Confirmation(SPACE, DEFAULT, STEPS, RUNG)


def begin(memory: StudyMemory, steps_left: float) -> Proposal | None:
    drawn = CONFIRMATION.next(memory.trials(), steps_left)
    return None if drawn is None else memory.add(drawn)


def end(memory: StudyMemory, proposal: Proposal) -> None:
    memory.report(proposal.number, STEPS, 0.3)
    memory.complete(proposal.number, 0.3)


def test_each_round_has_the_default_and_the_best_with_one_seed(memory: StudyMemory) -> None:
    left, found = 6.0 * STEPS, []
    while proposal := begin(memory, left):
        found.append((proposal.confirms, proposal.confirm_run, proposal.confirm_role))
        end(memory, proposal)
        left -= STEPS
    round_of_three = [(0, "default"), (3, "best"), (2, "best")]
    assert found == [(number, run, role) for run in range(2) for number, role in round_of_three]
    assert left == 0.0


def test_with_less_budget_one_is_confirmed_and_with_too_little_none(memory: StudyMemory) -> None:
    assert CONFIRMATION.contenders(memory.trials(), 6.0 * STEPS) == [0, 3, 2]
    assert len(CONFIRMATION.contenders(memory.trials(), 60.0 * STEPS)) == 1 + MOST_CONTENDERS == 3
    assert CONFIRMATION.contenders(memory.trials(), 5.9 * STEPS) == [0, 3]
    assert CONFIRMATION.contenders(memory.trials(), 3.9 * STEPS) == []
    assert begin(memory, 3.9 * STEPS) is None


def test_what_confirms_is_not_confirmed_itself(memory: StudyMemory) -> None:
    first = begin(memory, 6.0 * STEPS)
    assert first
    memory.report(first.number, STEPS, 9.0)
    memory.complete(first.number, 9.0)
    assert CONFIRMATION.contenders(memory.trials(), 5.0 * STEPS) == [0, 3, 2]


def test_a_round_is_begun_only_where_all_of_it_is_paid_for(memory: StudyMemory) -> None:
    left = 5.0 * STEPS  # two rounds of two, and half of a third
    for _ in range(4):
        proposal = begin(memory, left)
        assert proposal
        end(memory, proposal)
        left -= STEPS
    assert begin(memory, left) is None


def test_two_of_a_round_run_at_once(memory: StudyMemory) -> None:
    first, second = begin(memory, 4.0 * STEPS), begin(memory, 4.0 * STEPS - RUNG)
    assert first
    assert second
    assert first.confirm_run == second.confirm_run == 0
    # What both still take is theirs, and the rest pays for the second round.
    third = begin(memory, 4.0 * STEPS - 2 * RUNG)
    assert third
    assert third.confirm_run == 1
    end(memory, first)
    end(memory, second)


def test_what_runs_takes_its_steps_from_what_is_left(memory: StudyMemory) -> None:
    for left in (4.0 * STEPS, 4.0 * STEPS - RUNG):
        assert begin(memory, left)
    # Both have a rung, and still take the rest of their steps: nothing is left for a second round of two.
    assert begin(memory, 4.0 * STEPS - 2 * RUNG - 1.0) is None


def test_a_trial_that_failed_or_never_ran_is_no_contender_and_a_failed_default_is_one(tmp_path: Path) -> None:
    experiment = create(Settings(name="two", dir=str(tmp_path), steps=STEPS, reports=10, sampler="random"))
    memory = StudyMemory.open(experiment, SPACE, {}, LIMITS, [DEFAULT])
    for number, rating in enumerate((0.1, 0.9, 0.2)):
        memory.ask()
        memory.report(number, RUNG, rating)
    memory.fail(0, "bad luck")
    memory.fail(1, "bad luck")
    memory.complete(2, 0.2)
    for reason in (REFUSED, SAME_AS):
        drawn = memory.draw()
        drawn.set_user_attr(reason, 1)
        drawn.intermediate_values = {RUNG: 0.8}
        memory.add(drawn)
    memory.ask()  # it runs and has no evaluation
    assert CONFIRMATION.contenders(memory.trials(), 1e6) == [0, 2]


def test_one_that_has_all_of_its_steps_takes_no_more(memory: StudyMemory) -> None:
    first = begin(memory, 4.0 * STEPS)
    assert first
    memory.report(first.number, STEPS, 0.3)  # its process has not ended yet
    assert CONFIRMATION.contenders(memory.trials(), 3.0 * STEPS) == [0, 3]
    assert CONFIRMATION.contenders(memory.trials(), 3.0 * STEPS - RUNG) == []


def test_where_the_default_was_not_tried_it_is_trained_all_the_same(tmp_path: Path) -> None:
    experiment = create(Settings(name="two", dir=str(tmp_path), steps=STEPS, reports=10, sampler="random"))
    memory = StudyMemory.open(experiment, SPACE, {}, LIMITS)
    memory.ask()
    memory.report(0, STEPS, 0.2)
    memory.complete(0, 0.2)
    first = begin(memory, 4.0 * STEPS)
    assert first
    assert (first.confirms, first.confirm_role, first.hyperparameters) == (NOT_TRIED, "default", DEFAULT)
    second = begin(memory, 4.0 * STEPS - RUNG)
    assert second
    assert (second.confirms, second.confirm_role, second.confirm_run) == (0, "best", 0)


def test_an_assignment_is_confirmed_once_however_often_it_ran(memory: StudyMemory) -> None:
    best = memory.trials()[3]
    again = optuna.trial.create_trial(
        params=best.params, distributions=best.distributions, user_attrs=best.user_attrs, value=0.5,
        intermediate_values={STEPS: 0.5},
    )  # fmt: skip
    memory.add(again)
    assert CONFIRMATION.contenders(memory.trials(), 6.0 * STEPS) == [0, 4, 2]


def test_of_two_objectives_members_of_the_front_are_confirmed_those_first_that_stand_for_it(tmp_path: Path) -> None:
    experiment = create(
        Settings(name="two", dir=str(tmp_path), steps=STEPS, reports=10, sampler="random", objective="co2 bill")
    )
    memory = StudyMemory.open(experiment, SPACE, {}, LIMITS, [DEFAULT])
    gains = [(0.0, 0.0), (0.1, 0.9), (0.9, 0.1), (0.6, 0.6), (0.5, 0.5), (2.0, 2.0)]
    for number, pair in enumerate(gains):
        assert memory.ask().number == number
        memory.report(number, RUNG, -1.5e15 if number == 5 else sum(pair) / 2, pair)
        memory.freeze(number)
    assert memory.front() == [3, 1, 2]
    assert CONFIRMATION.contenders(memory.trials(), 8.0 * STEPS) == [0, 3, 1, 2]
    assert CONFIRMATION.contenders(memory.trials(), 4.0 * STEPS) == [0, 3]


def test_where_the_default_alone_is_the_front_the_best_others_are_confirmed(tmp_path: Path) -> None:
    experiment = create(
        Settings(name="two", dir=str(tmp_path), steps=STEPS, reports=10, sampler="random", objective="co2 bill")
    )
    memory = StudyMemory.open(experiment, SPACE, {}, LIMITS, [DEFAULT])
    for number, pair in enumerate([(0.9, 0.9), (0.2, 0.2), (0.5, 0.4)]):
        memory.ask()
        memory.report(number, RUNG, sum(pair) / 2, pair)
        memory.freeze(number)
    assert memory.front() == [0]
    assert CONFIRMATION.contenders(memory.trials(), 4.0 * STEPS) == [0, 2]


def test_what_only_a_running_trial_is_better_than_is_of_the_front_too(tmp_path: Path) -> None:
    experiment = create(
        Settings(name="two", dir=str(tmp_path), steps=STEPS, reports=10, sampler="random", objective="co2 bill")
    )
    memory = StudyMemory.open(experiment, SPACE, {}, LIMITS, [DEFAULT])
    for number, pair in enumerate([(0.2, 0.2), (0.1, 0.1), (0.3, 0.3)]):
        memory.ask()
        memory.report(number, RUNG, sum(pair) / 2, pair)
        if number < 2:
            memory.freeze(number)
    assert memory.front() == [2, 0]  # the last may fail yet
