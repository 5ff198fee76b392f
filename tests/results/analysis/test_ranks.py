"""Rank correlations of evaluations are Spearman's, over trials that have both."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from results.analysis import rung_ranks
from tests.results.made import reports, row, settle, tables


def test_a_pair_of_evaluations_has_the_correlation_of_the_trials_that_have_both(tmp_path: Path) -> None:
    settle(tmp_path)
    random = np.random.default_rng(5)
    trials, reported = [], []
    for number in range(12):
        own = reports(number, 0.1)[: 4 if number < 8 else 2]
        for each in own:
            each["score"] = float(random.normal())
        trials.append(row(number, own[-1]["score"]))
        reported += own
    found = rung_ranks(tables(tmp_path, trials, reported)).set_index(["rung", "against"])
    assert found["trials"].to_dict() == {(1, 2): 12, (1, 3): 8, (1, 4): 8, (2, 3): 8, (2, 4): 8, (3, 4): 8}
    scores = np.array([each["score"] for each in reported[:32]]).reshape(8, 4)
    assert found.loc[(1, 4), "correlation"] == pytest.approx(spearmanr(scores[:, 0], scores[:, 3]).statistic)
    assert found["is_last"].sum() == 3
    assert found.loc[(1, 4), ["part", "against_part"]].tolist() == [0.25, 1.0]
    best = scores[:, 3].argmax()
    assert found.loc[(1, 4), "kept"] == pytest.approx((scores[:, 0] >= scores[best, 0]).mean())
    assert (found["low"] <= found["correlation"]).all()
    assert (found["correlation"] <= found["high"]).all()


def test_the_latest_evaluation_so_far_is_not_the_last_one(tmp_path: Path) -> None:
    settle(tmp_path)
    trials = [row(number, 0.1 * number, "frozen") for number in range(9)]
    found = rung_ranks(tables(tmp_path, trials, [own for n in range(9) for own in reports(n, 0.1 * n)[:2]]))
    assert found[["rung", "against"]].to_numpy().tolist() == [[1, 2]]
    assert not found["is_last"].any()


def test_three_trials_or_equal_ratings_have_no_correlation(tmp_path: Path) -> None:
    trials = [row(number, 0.1) for number in range(3)]
    few = rung_ranks(tables(tmp_path, trials, [own for n in range(3) for own in reports(n, 0.1 * n)]))
    assert few["correlation"].isna().all()
    same = rung_ranks(tables(tmp_path, [row(n, 0.1) for n in range(6)], [own for n in range(6) for own in reports(n, 0.1)]))
    assert same["correlation"].isna().all()
