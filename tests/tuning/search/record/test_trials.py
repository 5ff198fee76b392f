"""What a trial of a study says, and that what follows from it is computed again where it changed, and only there."""

from functools import partial
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState, create_trial

from envs.objective.aim import Aim, Outcome
from search_spaces import Kind, SearchSpace
from search_spaces.parameter import Parameter
from tests.tuning.search.fakes import ask
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings
from tuning.search.proposals.sampler_view import as_seen, point_in
from tuning.search.record.study import StudyMemory
from tuning.search.record.trials import (
    Key,
    OfTrials,
    Standing,
    alike,
    gains_of,
    lacked_memory,
    last_gains,
    on_front,
    repeats,
    state_of,
)

WITHIN = optuna.distributions.FloatDistribution(0.0, 1.0)
SPACE = SearchSpace((Parameter("x", Kind.NUMBER, 0.5, "", search=WITHIN), Parameter("y", Kind.NUMBER, 0.5, "", search=WITHIN)))
BOX = SPACE.distributions({})
POINT = partial(point_in, space=SPACE, distributions=BOX)
PLAN = 0.2429273125


@pytest.mark.parametrize(
    ("name", "excess", "lacked"),
    [(Key.PREDICTED, 1.0, True), (Key.MEASURED, 1.0, True), (Key.PREDICTED, 0.0, False), (Key.REQUIRED, 1.0, False)],
)
def test_a_trial_lacked_memory_where_its_prediction_or_a_measurement_says_so(name: str, excess: float, lacked: bool) -> None:
    study = optuna.create_study()
    study.ask().set_constraint(name, excess)
    study.tell(0, state=TrialState.PRUNED)
    (trial,) = study.get_trials()
    assert lacked_memory(trial) is lacked
    assert state_of(trial) == ("oom" if lacked else "pruned")


def test_a_standing_is_what_was_written() -> None:
    standing = Standing(100, 1000, 2, 1, True, "Traceback", (100, 0.1, (0.2, -0.3)))
    trial = create_trial(state=TrialState.RUNNING, user_attrs={Key.STANDING: standing.attribute()})
    assert Standing.of(trial) == standing
    assert Standing.of(create_trial(state=TrialState.RUNNING)) == Standing()


def test_gains_are_those_of_the_last_evaluation() -> None:
    trial = create_trial(
        state=TrialState.RUNNING, intermediate_values={10: 0.1, 20: 0.2},
        user_attrs={Key.GAINS: {"10": [0.1, 0.3], "20": [0.2, 0.4]}}
    )  # fmt: skip
    assert gains_of(trial) == {10: (0.1, 0.3), 20: (0.2, 0.4)}
    assert last_gains(trial) == (0.2, 0.4)
    assert last_gains(create_trial(state=TrialState.RUNNING)) is None


def test_each_change_of_a_trial_in_a_journal_is_seen(tmp_path: Path) -> None:
    experiment = create(Settings(name="one", dir=str(tmp_path)))
    memory = StudyMemory.open(experiment)
    looked: list[int] = []

    def look(trial: FrozenTrial) -> tuple[str, int]:
        looked.append(trial.number)
        return trial.state.name, len(trial.intermediate_values)

    of = OfTrials(look)
    for _ in range(3):
        ask(experiment, memory)

    def now() -> list[tuple[str, int]]:
        return [of(trial) for trial in memory.trials()]

    assert now() == now() == [("RUNNING", 0)] * 3
    memory.report(1, 100, 0.5)
    assert now()[1] == ("RUNNING", 1)
    memory.freeze(1)
    assert now()[1] == ("WAITING", 1)
    memory.thaw(1)
    memory.complete(1, 0.6)
    assert now() == [("RUNNING", 0), ("COMPLETE", 1), ("RUNNING", 0)]
    # Only what changed was looked at again.
    assert (looked.count(0), looked.count(2)) == (1, 1)
    memory.reopen([1])
    assert now()[1] == ("RUNNING", 1)


def trial(
    number: int, ratings: dict[int, float], x: float = 0.5, state: TrialState = TrialState.PRUNED, **attributes: Any
) -> FrozenTrial:
    found = optuna.trial.create_trial(
        state=state, intermediate_values=ratings, user_attrs={Key.HYPERPARAMETERS: {"x": x, "y": 0.5}, **attributes}
    )
    found.number = number
    return found


def test_a_trial_with_the_last_rating_of_an_earlier_one_does_the_same() -> None:
    trials = [
        trial(0, {10: 0.1, 20: 0.15}),
        trial(1, {10: PLAN}),
        trial(2, {10: 0.1}),  # 0 has gone on from there
        trial(3, {10: PLAN, 20: PLAN}),
        trial(4, {10: PLAN, 20: PLAN + 1e-12}),  # it changes something by now
        trial(5, {}),
        trial(6, {10: float("nan")}),
        trial(7, {10: float("nan")}),
        trial(8, {10: PLAN}),
        trial(9, {10: PLAN}, **{Key.SAME_AS: 1}),  # it was not trained
    ]
    assert alike(trials) == {3, 8}
    assert alike(trials[2:]) == {8}


def test_one_that_failed_or_ran_out_of_memory_is_no_earlier_one() -> None:
    """Samplers do not see it as good, so the next one has to be."""
    failed = trial(0, {10: PLAN})
    failed.state = TrialState.FAIL  # Optuna makes none with a rating
    study = optuna.create_study()
    study.ask().set_constraint(Key.MEASURED, 1.0)
    out_of_memory = trial(1, {10: PLAN})
    out_of_memory.system_attrs = study.get_trials()[0].system_attrs
    assert alike([failed, out_of_memory, trial(2, {10: PLAN}), trial(3, {10: PLAN})]) == {3}


def test_with_two_objectives_both_gains_are_equal() -> None:
    pairs = [(0.1, 0.3), (0.2, 0.2), (0.1, 0.3)]
    assert alike([gains(number, pair) for number, pair in enumerate(pairs)]) == {2}


def test_trials_that_miss_a_requirement_by_as_much_need_not_do_the_same() -> None:
    missed = Aim.parse(require=("ev_served>=0.9",)).rating(Outcome(0.2, shortfall=0.1))
    assert alike([trial(0, {10: missed}), trial(1, {10: missed})]) == frozenset()
    assert repeats([frozen(0, missed), frozen(1, missed, missed)], 20) == {}


def frozen(number: int, *ratings: float, state: TrialState = TrialState.WAITING, **attributes: Any) -> FrozenTrial:
    return trial(number, {10 * rung: rating for rung, rating in enumerate(ratings, 1)}, state=state, **attributes)


def test_a_trial_repeats_an_earlier_one_if_all_that_it_did_is_the_same() -> None:
    trials = [
        frozen(0, 0.1, PLAN),
        frozen(1, PLAN, PLAN, PLAN),
        frozen(2, PLAN, PLAN),  # not for long enough
        frozen(3, PLAN, 0.2, PLAN),  # it did something else in between
        frozen(4, PLAN, PLAN, PLAN + 1e-12),
        frozen(5, PLAN, PLAN, PLAN, **{Key.SAME_AS: 1}),  # it was not trained
        frozen(6, 0.1, 0.1, 0.1),  # 0 has gone on from there
        frozen(7, PLAN, PLAN, PLAN, PLAN),
        frozen(8),
    ]
    assert repeats(trials, 30) == {1: 0, 7: 0}
    assert repeats(trials[1:], 30) == {7: 1}
    assert repeats(trials, 40) == {7: 0}


def test_what_cannot_be_the_best_is_no_reason_to_stop_another() -> None:
    for state, counts in (("RUNNING", True), ("WAITING", True), ("COMPLETE", True), ("PRUNED", False), ("FAIL", False)):
        # Optuna takes no complete trial without a value.
        first = frozen(0, PLAN)
        first.state = TrialState[state]
        assert bool(repeats([first, frozen(1, PLAN, PLAN)], 20)) is counts


def test_with_two_objectives_a_repetition_has_both_gains_in_all_evaluations() -> None:
    one, other = (0.1, 0.3), (0.2, 0.2)
    trials = [gains(0, one), gains(1, one, other), gains(2, other, one), gains(3, one, one)]
    assert repeats(trials, 20) == {3: 0}


def test_samplers_see_them_as_violating_a_constraint_and_nothing_is_written() -> None:
    trials = [trial(0, {10: PLAN}), trial(1, {10: 0.1}), trial(2, {10: PLAN})]
    seen = as_seen(trials, POINT, BOX)
    assert [one.constraints for one in seen] == [{Key.ALIKE: 0.0}, {Key.ALIKE: 0.0}, {Key.ALIKE: 1.0}]
    assert [one.value for one in seen] == [PLAN, 0.1, PLAN]
    assert all(not one.constraints for one in trials)
    assert all(not one.constraints for one in as_seen(trials[:2], POINT, BOX))


def test_of_many_trials_those_are_shown_that_differ() -> None:
    many = [trial(n, {10: PLAN}) for n in range(40)] + [trial(40 + n, {10: 0.001 * n}) for n in range(40)]
    shown = {one.number for one in as_seen(many, POINT, BOX, most=16)}
    assert {0, 77, 78, 79} <= shown


def gains(number: int, *pairs: tuple[float, float], rating: float = 0.2, state: TrialState = TrialState.WAITING) -> FrozenTrial:
    found = frozen(
        number, *[rating] * len(pairs), **{Key.GAINS: {str(10 * rung): list(pair) for rung, pair in enumerate(pairs, 1)}}
    )
    found.state = state
    return found


def test_the_front_has_no_trial_that_failed_was_stopped_or_misses_a_requirement() -> None:
    trials = [
        gains(0, (0.0, 1.0)), gains(1, (1.0, 0.0)), gains(2, (0.6, 0.6), state=TrialState.COMPLETE), gains(3, (0.1, 0.1)),
        gains(4, (2.0, 2.0), rating=-1.2e15), gains(5, (2.0, 2.0), state=TrialState.FAIL), gains(6),
        gains(7, (2.0, 2.0), state=TrialState.PRUNED),
    ]  # fmt: skip
    assert [one.number for one in on_front(trials)] == [2, 0, 1]
    assert on_front([]) == []
