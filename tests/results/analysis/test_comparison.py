"""Experiments stand side by side, a row each."""

from pathlib import Path

import pytest

from results.analysis import compare
from results.analysis.comparison import aim_of
from tests.results.made import evaluation, reports, row, search, settle, tables


def test_each_experiment_has_a_row_with_its_best_and_what_it_cost(tmp_path: Path) -> None:
    first = search(tmp_path / "first", 6)
    settle(tmp_path / "second")
    again = [row(2 + side, (0.1, 0.3)[side] + 0.01 * run, confirms=side, confirm_run=run, confirm_role=("default", "best")[side]) | {"trial": 2 + 2 * run + side} for run in range(3) for side in (0, 1)]  # fmt: skip # noqa: E501
    evaluated = [evaluation(1, 4000, 0.4, bill=8.0, uncontrolled_bill=10.0)]
    second = tables(tmp_path / "second", [row(0, 0.15), row(1, 0.4), *again], reports(0, 0.15) + reports(1, 0.4), evaluated)
    empty = tables(tmp_path / "third", [])
    found = compare([first, second, empty])
    assert found["experiment"].tolist() == ["first", "second", "third"]
    assert found["trials"].tolist() == [6, 2, 0]
    assert found["complete"].tolist() == [6, 2, 0]
    assert found["best_trial"].tolist() == [first.best["trial"], 1, -1]
    assert found["gain"].tolist()[1] == pytest.approx(0.25)
    assert found["confirmed_gain"].tolist()[1] == pytest.approx(0.2)
    assert found["bill_change"].tolist()[1] == pytest.approx(-0.2)
    assert found["elapsed_seconds"].tolist() == [240.0, 80.0, 0.0]
    assert found["total_steps"].tolist() == [24_000, 32_000, 0]
    assert found.loc[2, ["best_score", "gain", "confirmed_gain"]].isna().all()


def test_no_experiments_are_an_empty_frame() -> None:
    assert compare([]).empty


def test_an_aim_is_what_differs_from_the_default(tmp_path: Path) -> None:
    assert aim_of({"objective": "score", "weights": [], "validation": []}) == aim_of({}) == ""
    assert aim_of({"objective": "bill", "require": ["ev_served>=0.95"]}) == "objective bill; require ev_served>=0.95"
    first, second = search(tmp_path / "x" / "a", 2), search(tmp_path / "y" / "a", 2)
    settle(tmp_path / "y" / "a", objective="bill")
    found = compare([first, second])
    assert found["aim"].tolist() == ["", "objective bill"]
    assert found["experiment"].tolist() == [str(tmp_path / side / "a") for side in "xy"]
