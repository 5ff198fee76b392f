"""Who is dropped, and who has won, from scores alone."""

import numpy as np
import pytest

from results.statistics import paired_mean
from tuning.judging.standings import FIRST, looks, standing


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


def test_more_looks_and_more_contenders_need_more_evidence() -> None:
    scores = {"a": np.array([0.0703, 0.072, 0.071]), "b": np.array([0.068, 0.069, 0.0695])}
    assert standing(scores).winner == "a"
    assert standing(scores, 5).winner is None
    others = {str(i): scores["b"] - 0.05 + np.array([i, -i, 0]) * 1e-4 for i in range(1, 7)}
    assert "b" not in standing(scores | others).beaten


def test_the_noise_of_the_others_tells_how_wide_an_interval_is() -> None:
    """Two contenders that seem exact by chance, among others that are not."""
    lucky = {"a": np.array([0.07, 0.07, 0.07]), "b": np.array([0.0688, 0.069, 0.0691])}
    random = np.random.default_rng(0)
    others = {str(i): 0.06 + 0.004 * random.standard_normal(3) for i in range(4)}
    assert standing(lucky).beaten == ["b"]
    assert "b" not in standing(lucky | others).beaten


def test_one_that_was_dropped_is_compared_with_the_noise_of_its_time() -> None:
    random = np.random.default_rng(1)
    scores = {name: 0.06 + 1e-4 * random.standard_normal(5) for name in "abc"}
    scores["d"] = scores["a"][:3] - 0.01
    then = {name: own[:3] for name, own in scores.items()}
    now = standing(scores, 2)
    assert list(now.behind) == [name for name in "abcd" if name != now.leader]
    if standing(then, 2).leader == now.leader:
        assert now.behind["d"] == standing(then, 2).behind["d"]
    assert "d" in now.beaten


def race(scores: np.ndarray) -> tuple[bool, bool]:
    """Whether any of the contenders is beaten in a race in which the beaten are dropped, and whether there is a winner.

    Args:
        scores: shape (contenders, runs).
    """
    racing = {str(number): own for number, own in enumerate(scores)}
    counts = looks(scores.shape[1])
    for count in counts:
        now = standing({name: own[:count] for name, own in racing.items()}, len(counts))
        racing = {name: own for name, own in racing.items() if name not in now.beaten}
    return len(racing) < len(scores), len(racing) == 1


@pytest.mark.parametrize("noise", [(1.0,) * 6, (1.0, 0.1, 0.1, 0.1, 0.1, 0.1), (1.0, 1.0, 0.3, 0.1, 0.03, 0.01)])
def test_among_equals_hardly_ever_one_is_dropped(noise: tuple[float, ...]) -> None:
    """Six contenders that are equally good, looked at twice: in no more than one race of twenty is one of them beaten."""
    random, races = np.random.default_rng(0), 1000
    scores = random.standard_normal((races, 6, 5)) * np.array(noise)[:, np.newaxis]
    dropped = np.mean([race(own)[0] for own in scores])
    assert dropped < 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / races)


def test_a_clear_winner_is_told_after_few_runs() -> None:
    """Six deviations ahead of five others: five runs tell it nearly always, and with Bonferroni's correction seldom."""
    random = np.random.default_rng(2)
    scores = random.standard_normal((100, 6, 5)) + np.array([6.0, 0, 0, 0, 0, 0])[:, np.newaxis]
    assert np.mean([race(own)[1] for own in scores]) > 0.85
    pairwise = [[paired_mean(own[0], other, 1.0 - 0.05 / 30).low > 0.0 for other in own[1:]] for own in scores]
    assert np.mean([all(own) for own in pairwise]) < 0.6
