"""The front of two objectives, from the rows of trials alone."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from results import load
from results.front import front_of, not_dominated, spread_out
from results.table_files import write_rows
from tests.results.trials import KINDS, trial

pytestmark = pytest.mark.filterwarnings("ignore:.*lack")


def write(folder: Path, number: int, gains: tuple[float | None, float | None], state: str = "complete", **more: Any) -> None:
    both = [gain for gain in gains if gain is not None]
    row = {**trial(number, 0.1, state), "gain": gains[0], "gain_2": gains[1], "rating": sum(both) / 2 if both else None, **more}
    write_rows(folder, "trials", number, [row], KINDS)


def test_a_point_is_dominated_where_another_is_as_good_in_all_and_better_in_one() -> None:
    points = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.5, 0.4], [0.2, 0.2], [1.0, 0.0]])
    assert not_dominated(points).tolist() == [True, True, True, False, False, True]
    # As the definition has it, point by point.
    random = np.random.default_rng(0).integers(0, 5, (60, 2))
    by_hand = [not any((other >= own).all() and (other > own).any() for other in random) for own in random]
    assert not_dominated(random).tolist() == by_hand
    assert not_dominated(np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 1.0]])).tolist() == [True, True, False]
    assert not_dominated(np.empty((0, 2))).tolist() == []


def test_many_points_take_no_memory_for_all_their_pairs() -> None:
    gains = np.random.default_rng(0).random((2000, 2))
    tracemalloc.start()
    try:
        not_dominated(gains)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000  # a byte a pair would be 4 MB
    finally:
        tracemalloc.stop()


def test_the_first_few_stand_for_the_whole_front() -> None:
    front = np.array([[0.0, 1.0], [0.05, 0.98], [0.6, 0.6], [0.97, 0.1], [1.0, 0.0]])
    assert spread_out(front)[:3] == [2, 0, 4]
    assert sorted(spread_out(front)) == [0, 1, 2, 3, 4]
    assert spread_out(np.zeros((0, 2))) == []
    # Equal members, one wide in nothing.
    assert sorted(spread_out(np.array([[0.3, 0.3], [0.3, 0.3]]))) == [0, 1]


def test_no_member_misses_a_requirement_repeats_another_one_or_trained_again(tmp_path: Path) -> None:
    write(tmp_path, 0, (0.1, 0.3))
    write(tmp_path, 1, (0.3, 0.1), "frozen")
    write(tmp_path, 2, (0.05, 0.05))
    write(tmp_path, 3, (0.9, 0.9), shortfall=0.1, rating=-1.1e15)
    write(tmp_path, 4, (0.8, 0.8), confirms=0, confirm_run=0, confirm_role="best")
    write(tmp_path, 5, (0.7, 0.7), "pruned")
    write(tmp_path, 6, (0.1, 0.3), same_as=0)
    results = load(tmp_path)
    assert results.front["trial"].tolist() == [1, 0]


def test_one_objective_has_no_front(tmp_path: Path) -> None:
    write(tmp_path, 0, (None, None))
    results = load(tmp_path)
    assert results.front.empty
    # Rows of an older version have no such columns.
    assert front_of(results.trials.drop(columns=["gain", "gain_2"])).empty


def test_the_best_is_the_one_of_the_front_with_the_greatest_mean_gain(tmp_path: Path) -> None:
    for number, gains in enumerate([(0.1, 0.3), (0.25, 0.2), (0.3, 0.1)]):
        write(tmp_path, number, gains)
    results = load(tmp_path)
    assert results.best["trial"] == 1
    assert 1 in results.front["trial"].tolist()
