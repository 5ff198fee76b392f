"""What a sampler sees of the trials before."""

from functools import partial
from typing import Any

import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import FrozenTrial, TrialState

from envs.objective.aim import Aim, Outcome
from search_spaces import Kind, SearchSpace
from search_spaces.parameter import Parameter
from tuning.experiment.option_values import SAMPLERS
from tuning.search.proposals.sampler_view import as_seen, point_in
from tuning.search.record.trials import Key

WITHIN = FloatDistribution(0.0, 1.0)
SPACE = SearchSpace(
    (
        Parameter("x", Kind.NUMBER, 0.5, "", search=WITHIN),
        Parameter("y", Kind.NUMBER, 0.5, "", search=WITHIN),
        Parameter("note", Kind.NUMBER, 0.0, ""),
    )
)
BOX = SPACE.distributions({})
POINT = partial(point_in, space=SPACE, distributions=BOX)
COMPLETE, PRUNED, RUNNING, FAIL = TrialState.COMPLETE, TrialState.PRUNED, TrialState.RUNNING, TrialState.FAIL
MISSED, MISSED_MORE = (Aim.parse(require=("ev_served>=0.9",)).rating(Outcome(0.9, shortfall=short)) for short in (0.1, 0.5))


def trial(
    state: TrialState, steps: dict[int, float] | None = None, value: float | None = None, number: int = 0, **more: Any
) -> FrozenTrial:
    found = optuna.trial.create_trial(
        state=state, value=value, intermediate_values=steps or {}, constraints=more.get("constraints"),
        user_attrs={Key.HYPERPARAMETERS: {"x": more.get("x", 0.5), "y": more.get("y", 0.5), "note": 1.0}},
    )  # fmt: skip
    found.number = number
    return found


@pytest.mark.parametrize(
    ("known", "values", "state", "value"),
    [
        (trial(COMPLETE, {1: 0.1}, 0.2), {}, COMPLETE, 0.2),
        (trial(PRUNED, {1: 0.1, 2: 0.15}), {}, COMPLETE, 0.15),
        (trial(PRUNED), {}, PRUNED, None),
        (trial(PRUNED, {1: float("nan")}), {}, PRUNED, None),
        (trial(RUNNING, {1: 0.1}), {}, RUNNING, None),
        (trial(RUNNING, {1: 0.1}), {0: 0.7}, COMPLETE, 0.7),
        (trial(PRUNED, {1: 0.1}), {0: 0.7}, COMPLETE, 0.7),
        (trial(FAIL), {}, FAIL, None),
        (trial(FAIL), {0: 0.7}, FAIL, None),
    ],
)
def test_each_state_is_seen_as_the_table_says(
    known: FrozenTrial, values: dict[int, float], state: TrialState, value: float | None
) -> None:
    (seen,) = as_seen([known], POINT, BOX, values)
    assert (seen.state, seen.value if state is COMPLETE else None) == (state, value)


def test_what_is_lost_violates_a_constraint_and_its_value_says_nothing() -> None:
    known = [
        trial(COMPLETE, value=1.0, number=0, constraints={"memory": -5.0}),
        trial(COMPLETE, value=3.0, number=1, constraints={"memory": -5.0, "requirements": 0.2}),
        trial(PRUNED, number=2, constraints={"memory": 7.0}),
        # Its rating is far below all values, as it misses requirements.
        trial(PRUNED, {1: -1e15}, number=3, constraints={"memory": -5.0, "requirements": 0.1}),
    ]
    seen = as_seen(known, POINT, BOX)
    assert [one.state for one in seen] == [COMPLETE] * 4
    assert [one.value for one in seen] == [1.0, 3.0, 2.0, 2.0]
    # The same constraints of each, as the Gaussian process needs them.
    assert {tuple(sorted(one.constraints)) for one in seen} == {("memory", "requirements")}
    assert [max(one.constraints.values()) > 0 for one in seen] == [False, True, True, True]
    study = optuna.create_study(direction="maximize", sampler=SAMPLERS["gp"].build(0, 2))
    study.add_trials(seen)
    assert set(study.ask(BOX).relative_params) == {"x", "y"}


def test_parameters_are_the_nearest_points_of_the_assignment() -> None:
    (seen,) = as_seen([trial(COMPLETE, value=0.0, x=1.7, y=0.25)], POINT, BOX)
    assert (seen.params, seen.distributions) == ({"x": 1.0, "y": 0.25}, BOX)


def of_two(state: TrialState, gains: dict[int, tuple[float, float]], number: int = 0, **more: Any) -> FrozenTrial:
    value = 0.0 if state is COMPLETE else None
    found = trial(state, dict.fromkeys(gains, 0.0), value, number, **more)
    found.user_attrs[Key.GAINS] = {str(steps): list(pair) for steps, pair in gains.items()}
    return found


@pytest.mark.parametrize(
    ("known", "values", "expected"),
    [
        (of_two(COMPLETE, {1: (0.1, 0.2), 2: (0.3, 0.4)}), {}, [0.3, 0.4]),
        (of_two(PRUNED, {1: (0.1, 0.2)}), {}, [0.1, 0.2]),
        (of_two(TrialState.WAITING, {1: (0.1, 0.2)}), {}, [0.1, 0.2]),
        (of_two(RUNNING, {1: (0.1, 0.2)}), {}, None),
        (of_two(RUNNING, {1: (0.1, 0.2)}), {0: (0.7, 0.8)}, [0.7, 0.8]),
    ],
)
def test_with_two_objectives_both_gains_are_the_values(
    known: FrozenTrial, values: dict[int, tuple[float, float]], expected: list[float] | None
) -> None:
    (seen,) = as_seen([known], POINT, BOX, values, objectives=2)
    assert (seen.values if seen.state is COMPLETE else None) == expected


def test_of_too_many_trials_those_that_run_the_best_and_some_of_all_are_shown() -> None:
    known = [trial(COMPLETE, {}, 0.001 * (number % 100), number=number) for number in range(500)]
    known[7] = trial(RUNNING, number=7)
    known[11] = trial(COMPLETE, {}, 9.0, number=11, constraints={"memory": 1.0})
    assert len(as_seen(known, POINT, BOX, most=500)) == 500
    shown = [seen.number for seen in as_seen(known, POINT, BOX, most=40)]
    assert shown == sorted(set(shown))
    assert len(shown) == 40
    assert 7 in shown
    # The best that fit, the first of equal ones.
    assert {99, 199, 299, 399, 499, 98, 198, 298, 398, 498} <= set(shown)
    assert min(shown) < 30
    assert max(set(shown) - {499, 498}) > 440


def test_with_two_objectives_the_best_in_each_are_shown() -> None:
    known = [trial(COMPLETE, {1: 0.0}, 0.0, number=number) for number in range(300)]
    for number, each in enumerate(known):
        each.user_attrs[Key.GAINS] = {"1": [0.0, 0.0]}
        if number in (50, 150):
            each.user_attrs[Key.GAINS] = {"1": [1.0, -5.0] if number == 50 else [-5.0, 1.0]}
    shown = [seen.number for seen in as_seen(known, POINT, BOX, objectives=2, most=36)]
    assert {50, 150} <= set(shown)


@pytest.mark.parametrize("state", [TrialState.WAITING, RUNNING])
def test_what_missed_a_requirement_when_last_evaluated_violates_a_constraint_by_as_much(state: TrialState) -> None:
    known = [
        trial(COMPLETE, {1: 0.1}, 0.2, number=0, constraints={Key.REQUIRED: 0.0}),
        trial(state, {1: 0.1, 2: MISSED}, number=1),
        trial(state, {1: MISSED_MORE}, number=2),
        trial(state, {1: MISSED, 2: 0.3}, number=3),  # it meets all by now
    ]
    seen = as_seen(known, POINT, BOX, {1: 0.05, 2: 0.0, 3: 0.3})
    assert [one.constraints[Key.REQUIRED] for one in seen] == pytest.approx([0.0, 0.1, 0.5, 0.0])
    assert [one.value for one in seen] == [0.2, 0.05, 0.0, 0.3]
    assert all(Key.REQUIRED not in one.constraints for one in known[1:])  # the study's own trials stay as they are


def test_without_a_model_a_frozen_miss_has_no_value_of_its_own() -> None:
    known = [trial(COMPLETE, {1: 0.1}, 0.2, number=0), trial(TrialState.WAITING, {1: MISSED}, number=1)]
    seen = as_seen(known, POINT, BOX)
    assert [one.state for one in seen] == [COMPLETE, COMPLETE]
    assert [one.value for one in seen] == [0.2, 0.2]
    assert seen[1].constraints[Key.REQUIRED] == pytest.approx(0.1)
