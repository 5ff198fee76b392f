"""Tests of landscapes that answer any proposal."""

import numpy as np
import pytest

from benchmarks.replay.landscape import made, within
from benchmarks.replay.searchers import SEARCHERS, replayed
from benchmarks.replay.surrogate import Surrogate
from tuning.search.models.curve_model import encode

LAND = made(0, assignments=40, columns=3)


@pytest.fixture(scope="module")
def surrogate() -> Surrogate:
    return Surrogate.of(LAND)


def test_a_training_is_what_is_expected_and_what_its_seed_adds(surrogate: Surrogate) -> None:
    best = LAND.encoded[int(surrogate.ends.argmax())]
    trainings = np.array([surrogate.training(best, np.random.default_rng(seed)) for seed in range(200)])
    scaled = surrogate.scale.scaled(trainings)
    apart = scaled.std(axis=0, ddof=1)
    expected = surrogate.scale.scaled(surrogate.expected(best[None, :])[0])
    assert np.abs(scaled.mean(axis=0) - expected).max() < 4 * apart.max() / np.sqrt(200)
    model = np.diag(surrogate.curves.seeds_covariance(np.log(LAND.steps))) + surrogate.curves.noise
    assert apart == pytest.approx(np.sqrt(model), rel=0.2)
    # It is small beside what hyperparameters decide: the formula adds .002 for a seed, and .002 for an evaluation.
    assert trainings[:, -1].std() < 0.3 * surrogate.ends.std()
    # What a seed adds stays along the steps.
    assert np.corrcoef(trainings[:, -1], trainings[:, -2])[0, 1] > 0.3


def test_each_proposal_is_an_assignment_of_its_own(surrogate: Surrogate) -> None:
    land = surrogate.opened()
    assert (len(land), land.default, land.costs) == (1, 0, [1.0])
    new = dict(LAND.points[3])
    assert land.nearest(new, land.untried({})) == 1
    assert land.nearest(new, land.untried({})) == 2
    assert land.points[1] == new
    assert land.costs[1] == pytest.approx(
        surrogate.cost(encode([new], LAND.distributions)[0]) / surrogate.cost(LAND.encoded[0])
    )
    ratings, expected = land.trainings(seed=4)
    again, _ = land.trainings(seed=4)
    other, _ = land.trainings(seed=5)
    assert ratings[1, 19] == again[1, 19]
    assert ratings[1, 19] != ratings[2, 19] != other[2, 19]
    assert expected[1, 19] == expected[2, 19] == pytest.approx(surrogate.ends[3], abs=1e-9)


@pytest.mark.parametrize("name", ["random", "tpe+asha", "freeze-thaw, prior"])
def test_searchers_propose_what_was_not_recorded_and_repeat_themselves(name: str, surrogate: Surrogate) -> None:
    first, again = (replayed(surrogate, SEARCHERS[name], 3.0, seed=1) for _ in range(2))
    assert (first.reached, first.trace) == (again.reached, again.trace)
    recorded = [within(point, LAND.distributions) for point in LAND.points]
    begun = [first.landscape.points[index] for index in first.reached]
    assert begun[0] == recorded[0]
    assert len(begun) > 1
    assert not any(point in recorded for point in begun[1:])
    assert first.regret(3.0 * float(LAND.steps[-1])) < 2.0
