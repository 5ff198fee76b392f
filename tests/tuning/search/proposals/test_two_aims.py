"""Two objectives as one number, from a sequence of directions that covers the whole front."""

import numpy as np
import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState

from tuning.search.proposals.two_aims import chebyshev, on_front, weight
from tuning.search.record.trials import GAINS


def trial(number: int, *gains: tuple[float, float], rating: float = 0.0, state: TrialState = TrialState.WAITING) -> FrozenTrial:
    found = optuna.trial.create_trial(
        state=state,
        value=0.0 if state is TrialState.COMPLETE else None,
        intermediate_values={(rung + 1) * 10: rating for rung in range(len(gains))},
        user_attrs={GAINS: {str((rung + 1) * 10): list(pair) for rung, pair in enumerate(gains)}},
    )
    found.number = number
    return found


def test_weights_begin_with_the_middle_and_both_ends_and_never_repeat() -> None:
    found = [weight(number) for number in range(35)]
    assert found[:7] == [0.5, 0.0, 1.0, 0.25, 0.75, 0.125, 0.625]
    assert len(set(found)) == len(found)
    # Every tenth of the range has its turn.
    assert np.histogram(found, np.linspace(0.0, 1.0, 11))[0].min() >= 2


def test_each_member_of_a_front_is_best_from_some_direction_also_in_a_hollow_of_it() -> None:
    front = np.array([[1.0, 0.0], [0.9, 0.35], [0.45, 0.5], [0.35, 0.9], [0.0, 1.0]])
    # No weighted sum finds the one in the middle.
    assert all((front @ (part, 1 - part)).argmax() != 2 for part in np.linspace(0, 1, 101))
    gains = np.concatenate([front, np.full((5, 2), -0.5)])
    assert {int(chebyshev(gains, weight(number)).argmax()) for number in range(33)} == {0, 1, 2, 3, 4}


def test_more_of_both_is_never_less() -> None:
    gains = np.random.default_rng(1).random((40, 2))
    for part in (0.0, 0.2, 0.5, 1.0):
        values = chebyshev(gains, part)
        for own, value in zip(gains, values, strict=True):
            worse = (gains < own).all(axis=1)
            assert (values[worse] <= value).all()


def test_scales_of_the_objectives_do_not_matter() -> None:
    gains = np.random.default_rng(2).random((20, 2))
    assert chebyshev(gains * (1.0, 1000.0) + (5.0, -7.0), 0.3) == pytest.approx(chebyshev(gains, 0.3))


def test_the_front_has_no_trial_that_failed_was_stopped_or_misses_a_requirement() -> None:
    trials = [
        trial(0, (0.0, 1.0)), trial(1, (1.0, 0.0)), trial(2, (0.6, 0.6), state=TrialState.COMPLETE), trial(3, (0.1, 0.1)),
        trial(4, (2.0, 2.0), rating=-1.2e15), trial(5, (2.0, 2.0), state=TrialState.FAIL), trial(6),
        trial(7, (2.0, 2.0), state=TrialState.PRUNED),
    ]  # fmt: skip
    assert [one.number for one in on_front(trials)] == [2, 0, 1]
    assert on_front([]) == []
