"""The time left is compared along whole searches: what costs alike is told right, and knowing costs never tells it worse."""

from dataclasses import replace

import numpy as np

from benchmarks.replay.landscape import made
from benchmarks.replay.time_left import COUNTED, WEIGHED, course, right

LAND = made(0, 30)


def test_a_search_spends_its_budget_of_steps_and_ends_with_the_best_and_the_default() -> None:
    trained, best = course(LAND, 27.0, 0)
    assert len(trained) == len(best) == 27 * len(LAND.steps)
    last = trained[-4 * len(LAND.steps) :]
    assert set(last) == {LAND.default, best[-1]}


def test_where_costs_are_alike_both_tell_the_time_left_right() -> None:
    found = right(replace(LAND, costs=np.ones(len(LAND))), *course(LAND, 3.0, 0), 0)
    assert np.mean(found[WEIGHED]) > 0.9
    assert np.mean(found[COUNTED]) > 0.9


def test_costs_of_what_confirms_are_known_before() -> None:
    costs = np.full(len(LAND), 20.0)
    costs[LAND.default] = 1.0
    whole = len(LAND.steps)
    trained = [1] * (23 * whole) + [*[1] * whole, *[LAND.default] * whole] * 2
    found = right(replace(LAND, costs=costs), trained, [1] * len(trained), 0)
    assert np.mean(found[WEIGHED]) > 0.85
    assert np.mean(found[COUNTED]) < 0.75
