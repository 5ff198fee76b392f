"""The leaderboard has all trials of the search, the best first."""

from pathlib import Path

import pytest

from results.analysis import leaderboard
from tests.results.made import row, settle, tables


def test_the_best_comes_first_and_what_has_no_rating_last(tmp_path: Path) -> None:
    settle(tmp_path)
    trials = [
        row(0, 0.1), row(1, None, "failed"), row(2, 0.5, "frozen"), row(3, 0.3, "pruned"),
        *(row(4 + run, score, confirms=2, confirm_run=run, confirm_role="best") for run, score in enumerate((0.6, 0.4))),
    ]  # fmt: skip
    found = leaderboard(tables(tmp_path, trials))
    assert found["trial"].tolist() == [2, 3, 0, 1]
    assert found["rank"].tolist()[:3] == [1, 2, 3]
    assert found["rank"].isna().tolist() == [False, False, False, True]
    assert found["is_best"].tolist() == [True, False, False, False]
    assert found["is_default"].tolist() == [False, False, True, False]
    assert found["confirmed"].iloc[0] == pytest.approx(0.5)
    assert found["confirmed_runs"].iloc[0] == 2
    assert found["confirmed_low"].iloc[0] < 0.5 < found["confirmed_high"].iloc[0]
    assert found["steps_per_second"].iloc[0] == pytest.approx(4000 / 35)


def test_the_objective_ranks_and_what_misses_a_requirement_has_no_rank(tmp_path: Path) -> None:
    trials = [row(0, 0.9, rating=-300.0, objective=300.0, shortfall=0.0), row(1, 0.1, rating=-200.0, objective=200.0)]
    trials.append(row(2, 0.5, rating=-1e15, objective=100.0, shortfall=0.2))
    found = leaderboard(tables(tmp_path, trials))
    assert found["trial"].tolist() == [1, 0, 2]
    assert found["rank"].isna().tolist() == [False, False, True]
