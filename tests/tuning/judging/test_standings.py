"""Who is dropped, and who has won, from scores alone."""

import numpy as np
import pytest

from tuning.judging.standings import FIRST, comparisons, looks, standing


@pytest.mark.parametrize("runs", [2, 3, 4, 5, 8, 20])
def test_the_last_look_is_at_all_runs_and_none_comes_before_the_first(runs: int) -> None:
    found = looks(runs)
    assert found[-1] == runs
    assert found == sorted(set(found))
    assert all(count >= FIRST for count in found[:-1])


def test_who_is_clearly_behind_is_beaten_and_who_is_close_is_not() -> None:
    best = np.array([0.070, 0.071, 0.069, 0.070])
    far, close = best - np.array([0.01, 0.011, 0.01, 0.009]), best - np.array([1, -1, 1, 0]) / 1e3
    found = standing({"far": far, "best": best, "close": close})
    assert found.leader == "best"
    assert found.beaten == ["far"]
    assert found.winner is None


def test_there_is_a_winner_where_all_others_are_beaten() -> None:
    best = np.array([0.070, 0.071, 0.069])
    assert standing({"a": best, "b": best - 0.01 + np.array([0, 1e-4, 0])}).winner == "a"


def test_pairs_cancel_what_seeds_have_in_common() -> None:
    common = np.array([0.01, 0.05, 0.09, 0.03])
    assert standing({"a": common + 0.001, "b": common + np.array([1, -1, 0, 0]) * 1e-4}).winner == "a"


def test_a_dropped_one_is_compared_over_the_runs_that_it_has() -> None:
    found = standing({"a": np.array([0.07, 0.071, 0.069, 0.2]), "b": np.array([0.06, 0.062, 0.059])})
    assert found.behind["b"].value == pytest.approx((0.01 + 0.009 + 0.01) / 3.0)


def test_one_that_was_dropped_does_not_lead_by_its_luckier_seeds() -> None:
    found = standing({"a": np.array([0.07, 0.0701, 0.0699, 0.02, 0.02]), "b": np.array([0.06, 0.0601, 0.0599])})
    assert found.leader == found.winner == "a"
    assert found.behind["b"].value == pytest.approx(0.01)


def test_more_comparisons_need_more_evidence() -> None:
    scores = {"a": np.array([0.070, 0.072, 0.071]), "b": np.array([0.068, 0.069, 0.0695])}
    assert standing(scores, comparisons=1).winner == "a"
    assert standing(scores, comparisons=50).winner is None


def test_among_equals_hardly_ever_anybody_is_dropped() -> None:
    """Six contenders that are alike, looked at twice: in no more than one race of twenty is one of them beaten."""
    random = np.random.default_rng(0)
    races, dropped = 400, 0
    for _ in range(races):
        scores = {str(i): random.standard_normal(5) for i in range(6)}
        looked = [
            standing({name: own[:count] for name, own in scores.items()}, comparisons=comparisons(6, 5)) for count in looks(5)
        ]
        dropped += any(found.beaten for found in looked)
    assert dropped / races < 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / races)
