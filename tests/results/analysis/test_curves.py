"""Curves of trials, and means with intervals over those of one assignment."""

from pathlib import Path

import numpy as np
import pytest

from results.analysis import confirmed, learning_curves, mean_curves
from results.analysis.curves import evaluated
from results.statistics import mean
from tests.results.made import again, reports, row, settle, tables


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
    trained = [*again(2, 0, (0.10, 0.11, 0.12)), *again(5, 1, (0.30, 0.32, 0.34))]
    return [row(0, 0.15), row(1, 0.4), *trained], [own for each in trained for own in reports(each["trial"], each["score"])]


def test_confirmations_have_means_with_students_interval_and_paired_gains(tmp_path: Path) -> None:
    results = tables(tmp_path, *confirmations())
    found = confirmed(results).set_index("role")
    assert found.index.tolist() == ["best", "default"]
    assert found.loc["best", "mean"] == pytest.approx(0.32)
    assert found.loc["best", "gain"] == pytest.approx(0.21)
    assert found.loc["best", "gain_low"] == pytest.approx(mean(np.array([0.20, 0.21, 0.22])).low)
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
