"""Earlier experiments are drawn from while their ranks agree with the trials here, and no longer."""

from collections.abc import Sequence

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import FrozenTrial

from tests.tuning.search.fakes import ended
from tuning.search.proposals.transfer import MODEL_TRIALS, SHARE, Source, Transfer, believed

SPACE = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}
LINE = np.linspace(0.0, 1.0, 8)
SOURCE = Source([{"x": float(x), "y": 0.5} for x in LINE], [8.0 - place for place in range(8)])  # the best has x = 1


def at(number: int, x: float, value: float, **constraints: float) -> FrozenTrial:
    return ended(number, {"x": x, "y": 0.5}, SPACE, value, **constraints)


def draws(of: Transfer, seen: Sequence[FrozenTrial], count: int = 200) -> list[float | None]:
    found = (of.draw(seen, np.random.default_rng(seed)) for seed in range(count))
    return [None if point is None else float(point["x"]) for point in found]


def test_ranks_become_normal_scores_so_one_experiment_counts_as_another() -> None:
    assert SOURCE.standings == pytest.approx(-SOURCE.standings[::-1])
    assert SOURCE.standings.argmax() == 7
    assert [point["x"] for point in SOURCE.best] == [1.0, LINE[6]]
    assert len(Source(SOURCE.points[:2], [1.0, 2.0]).best) == 1


def test_an_experiment_is_believed_as_far_as_the_order_of_the_trials_agrees() -> None:
    expected = np.array([-1.0, 0.0, 1.0, 2.0])
    assert believed(np.zeros(0), np.zeros(0)) == 1.0
    assert believed(expected[:1], np.array([3.0])) == 1.0
    assert believed(expected, np.array([1e-9, 2.0, 3.0, 4e9])) == 1.0  # only the order counts
    assert believed(expected, -expected) == 0.0
    unsure = believed(expected, np.array([0.0, 3.0, 1.0, 2.0]))
    assert 0.0 < unsure < 1.0


def test_pairs_that_it_takes_for_alike_say_nothing() -> None:
    assert believed(np.zeros(5), np.arange(5.0)) == 1.0
    assert believed(np.array([0.0, 0.01]), np.array([1.0, 0.0])) > 0.9


def test_the_more_trials_contradict_the_less_is_drawn() -> None:
    def contradicted(count: int) -> float:
        expected = np.linspace(-1.0, 1.0, count)
        return believed(expected, np.where(np.arange(count) % 2, expected, -expected))

    assert contradicted(4) > contradicted(16) > contradicted(64)


def test_the_best_come_first_as_they_are_and_none_twice() -> None:
    of = Transfer([SOURCE], SPACE)
    first = draws(of, [])
    assert set(first) == {1.0, None}
    assert np.mean([x is not None for x in first]) == pytest.approx(SHARE, abs=0.1)
    assert set(draws(of, [at(0, 1.0 - 1e-12, 1.0)])) == {LINE[6], None}
    assert set(draws(of, [at(0, 1.0, 2.0), at(1, float(LINE[6]), 1.0)])) == {None}


def test_of_thousands_an_even_part_of_the_ranks_is_modelled() -> None:
    x = np.random.default_rng(0).permutation(np.linspace(0.0, 1.0, 4000))
    many = Source([{"x": float(each), "y": 0.5} for each in x], (4000.0 - 3999.0 * x).tolist())
    ranks = np.sort(np.array(many.ranks)[many.modelled])
    assert len(set(ranks)) == MODEL_TRIALS
    assert (ranks[0], ranks[-1]) == (1.0, 4000.0)
    assert np.diff(ranks).max() < 2.0 * 4000 / MODEL_TRIALS
    of = Transfer([many], SPACE)
    agree = [at(number, place, 5.0 * place) for number, place in enumerate((0.05, 0.3, 0.5, 0.7, 0.95))]
    assert of.weights(agree)[0] > 0.95
    assert max(draw for draw in draws(of, agree, 20) if draw is not None) == 1.0


def test_trials_that_contradict_wash_it_out_and_those_that_agree_do_not() -> None:
    of = Transfer([SOURCE], SPACE)
    places = [0.05, 0.3, 0.5, 0.7, 0.95]
    agree = [at(number, x, 5.0 * x) for number, x in enumerate(places)]
    against = [at(number, x, -5.0 * x) for number, x in enumerate(places)]
    assert of.weights(agree)[0] > 0.95
    assert of.weights(against) == [0.0]
    assert set(draws(of, against)) == {None}
    # What did not fit into memory says nothing.
    assert of.weights([at(number, x, -5.0 * x, memory=1.0) for number, x in enumerate(places)]) == [1.0]


def test_with_two_objectives_the_mean_gain_ranks_trials() -> None:
    pairs = [optuna.trial.create_trial(params={"x": x, "y": 0.5}, distributions=SPACE, values=[x, 1.0 - 3.0 * x]) for x in LINE]
    (weight,) = Transfer([SOURCE], SPACE).weights(pairs)
    (of_the_mean,) = Transfer([SOURCE], SPACE).weights([at(row, x, 0.5 - x) for row, x in enumerate(LINE)])
    assert weight == of_the_mean == 0.0


def test_of_several_the_one_that_agrees_is_drawn_from() -> None:
    opposite = Source(SOURCE.points, list(reversed(SOURCE.ranks)))
    of = Transfer([opposite, SOURCE], SPACE)
    seen = [at(number, x, x) for number, x in enumerate((0.05, 0.3, 0.5, 0.7, 0.9))]
    assert set(draws(of, seen)) <= {1.0, LINE[6], None}
    assert draws(of, []).count(0.0) > 40


def test_without_earlier_experiments_nothing_is_drawn() -> None:
    assert draws(Transfer([], SPACE), []) == [None] * 200
