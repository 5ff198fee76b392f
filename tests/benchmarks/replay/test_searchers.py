from dataclasses import replace

import numpy as np
import pytest

from benchmarks.replay.landscape import made
from benchmarks.replay.searchers import SEARCHERS, Replay, Spent, replayed
from results.statistics import mean

LAND = made(0, assignments=12, columns=3)
FULL = float(LAND.steps[-1])


def test_time_is_steps_times_cost_and_nothing_is_trained_beyond_the_budget() -> None:
    replay = Replay(LAND, 0.1 * FULL * LAND.costs[5], seed=0)
    replay.train(5)
    replay.train(5)
    assert replay.time == pytest.approx(2 * 25_000 * LAND.costs[5])
    with pytest.raises(Spent):
        replay.train(5)
    assert replay.reached == {5: 2}


def test_the_regret_is_that_of_the_best_observed_by_its_mean_over_seeds() -> None:
    ratings = np.tile(np.linspace(0.1, 1.0, 20), (12, 2, 1))
    ratings[3, 0] += 5.0  # a lucky seed
    ratings[3, 1] -= 5.0
    ratings[4] += 0.5
    land = replace(LAND, ratings=ratings, costs=np.ones(12))
    lucky = next(seed for seed in range(20) if Replay(land, FULL, seed).ratings[3, 0] > 1)
    replay = Replay(land, 10 * FULL, lucky)
    for assignment in (4, 3):
        for _ in range(20):
            replay.train(assignment)
    assert replay.regret(FULL) == 0.0
    assert replay.regret(2 * FULL) == pytest.approx(1.0)  # what looks best is no better than the median
    assert replay.regret(0.0) == 2.0


@pytest.mark.parametrize("name", sorted(set(SEARCHERS) - {"gp"}))  # GP takes torch, and a second for each proposal
def test_a_searcher_begins_with_the_default_and_repeats_itself(name: str) -> None:
    first, again = (replayed(LAND, SEARCHERS[name], 2.0, seed=3) for _ in range(2))
    assert next(iter(first.reached)) == LAND.default
    assert first.reached == again.reached
    assert first.trace == again.trace
    assert first.reached.keys() >= {0}
    assert first.regret(2 * FULL) < 2.0


@pytest.mark.slow
def test_what_the_tuner_does_by_default_finds_more_than_random_search() -> None:
    regrets: dict[str, list[float]] = {"freeze-thaw, prior": [], "random": []}
    for seed in range(20):
        land = made(100 + seed)  # not one that a rule was chosen on
        for name, found in regrets.items():
            found.append(replayed(land, SEARCHERS[name], 4.0, seed=seed).regret(4 * FULL))
    gain = mean(np.array(regrets["random"]) - np.array(regrets["freeze-thaw, prior"]))
    print(f"mean regret after four trainings: {np.mean(regrets['freeze-thaw, prior']):.2f}; random search has {gain} more")
    assert gain.low > 0.0
