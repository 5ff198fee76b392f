"""Curves of trials, and means with intervals over those of one assignment."""

from pathlib import Path

import pytest

from results.analysis import confirmed, learning_curves, mean_curves
from results.analysis.curves import evaluated
from results.statistics import mean
from tests.results.made import reports, row, search, settle, tables


def test_a_late_update_skips_an_evaluation(tmp_path: Path) -> None:
    own = reports(0, 0.4)
    own[1]["steps"] = 3100  # two evaluations were due at once
    results = tables(tmp_path, [row(0, 0.4)], [own[0], own[1], own[3]])
    settle(tmp_path)
    assert evaluated(results)["rung"].tolist() == [1, 3, 4]
    (tmp_path / "experiment.json").unlink()
    assert evaluated(results)["rung"].tolist() == [1, 2, 3]


def test_updates_without_an_evaluation_are_no_points(tmp_path: Path) -> None:
    own = reports(0, 0.4)
    own[0]["score"] = None
    found = learning_curves(tables(tmp_path, [row(0, 0.4, "frozen")], own))
    assert found["steps"].tolist() == [2000, 3000, 4000]
    assert found["is_last"].tolist() == [False, False, True]
    assert (found["state"] == "frozen").all()
    assert (found["role"] == "search").all()


def confirmations() -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    trials, reported = [row(0, 0.15), row(1, 0.4)], []
    for run in range(3):
        for side, score in ((0, 0.1), (1, 0.3)):
            number, end = 2 + 2 * run + side, score + 0.01 * run * (1 + side)
            role = ("default", "best")[side]
            trials.append(row(number, end, confirms=side, confirm_run=run, confirm_role=role))
            reported += reports(number, end)
    return trials, reported


def test_confirmations_have_means_with_students_interval_and_paired_gains(tmp_path: Path) -> None:
    results = tables(tmp_path, *confirmations())
    found = confirmed(results).set_index("role")
    assert found.index.tolist() == ["best", "default"]
    assert found.loc["best", "mean"] == pytest.approx(0.32)
    assert found.loc["best", "gain"] == pytest.approx(0.21)
    assert found.loc["best", "gain_low"] == pytest.approx(mean(results.trials["score"].to_numpy()[3::2] - results.trials["score"].to_numpy()[2::2]).low)  # fmt: skip # noqa: E501
    assert found["gain"].isna().tolist() == [False, True]
    curves = mean_curves(results)
    assert curves["rung"].tolist() == [1, 2, 3, 4] * 2
    assert (curves["runs"] == 3).all()
    assert curves["mean"].iloc[-1] == pytest.approx(0.32)
    assert ((curves["low"] < curves["mean"]) & (curves["mean"] < curves["high"])).all()


def test_candidates_count_in_no_mean(tmp_path: Path) -> None:
    trials, reported = confirmations()
    trials.append(row(8, 9.0, confirms=1, confirm_run=0, confirm_role="candidate"))
    results = tables(tmp_path, trials, [*reported, *reports(8, 9.0)])
    assert confirmed(results).set_index("role").loc["best", "mean"] == pytest.approx(0.32)
    assert (mean_curves(results)["runs"] == 3).all()
    assert results.candidates["trial"].tolist() == [8]
    assert 8 not in results.confirmations["trial"].tolist()
    assert learning_curves(results).set_index("trial").loc[8, "role"].unique().tolist() == ["candidate"]


def test_one_run_has_no_interval(tmp_path: Path) -> None:
    found = confirmed(tables(tmp_path, [row(0, 0.1), row(1, 0.3, confirms=0, confirm_run=0, confirm_role="default")]))
    assert found["mean"].tolist() == [0.3]
    assert found[["low", "high", "gain"]].isna().all(axis=None)


def test_a_search_without_confirmations_has_none(tmp_path: Path) -> None:
    assert mean_curves(search(tmp_path, 2)).empty
