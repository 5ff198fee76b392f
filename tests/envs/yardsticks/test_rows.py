"""Rows of what policies are compared with: one for each controller and year."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from common.measure import SERVED_BOUND
from envs.objective.aim import Aim
from envs.scenarios.scenario import Window, scenario
from envs.task import SiteTask
from envs.yardsticks import rows
from envs.yardsticks.bound import Bound, TooLongError, bound
from envs.yardsticks.rows import bound_rows, bounded, mpc_rows
from tests.envs.schema_changes import edited, put


def test_windows_of_a_year_count_by_their_hours(small_schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task, windows = SiteTask(str(small_schema)), [Window(0, 0, 72), Window(0, 100, 24), Window(1, 0, 24)]
    base = bound(task, windows[0], "score")
    scores = {72: 0.04, 24: 0.08}

    def of(task: SiteTask, window: Window, *_: Any) -> Bound:
        return replace(base, score=scores[window.hours], co2_kg=10.0)

    base = replace(base, missing_kwh=1.0, required_kwh=4.0)
    monkeypatch.setattr(rows, "bound", of)
    first, second = bound_rows(task, "test", windows, ("score",))
    assert [first["year"], second["year"]] == [0, 1]
    assert (first["score"], first["co2_kg"], first["hours"]) == (pytest.approx(0.05), 20.0, 96)
    assert (first["contender"], first["split"]) == ("bound of score", "test")
    assert (first["ev_required_kwh"], first["ev_served"]) == (8.0, 0.75)


def test_what_is_always_0_has_no_bound(small_schema: Path, tmp_path: Path) -> None:
    assert bounded(scenario(str(small_schema))) == ("score", "co2", "cost")
    without = edited(small_schema, tmp_path / "site", put("buildings", "mall", "carbon_intensity", value=None))
    assert bounded(scenario(str(without))) == ("score", "cost")


@pytest.mark.parametrize(
    ("require", "is_there"),
    [((), True), (("ev_served>=0.95",), True), (("ev_served>=0.5",), False), (("ev_served<=1",), False)],
)
def test_the_bound_of_those_who_serve_vehicles_stands_beside_one_that_does_not_unless_less_is_asked_for(
    small_schema: Path, monkeypatch: pytest.MonkeyPatch, require: tuple[str, ...], is_there: bool
) -> None:
    task, windows = SiteTask(str(small_schema), aim=Aim.parse(require=require)), [Window(0, 0, 72)]
    base = replace(bound(task, windows[0], "score"), missing_kwh=9.0, required_kwh=10.0, uncontrolled_missing_kwh=0.0)
    monkeypatch.setattr(rows, "bound", lambda *_: base)
    monkeypatch.setattr(rows, "served_bounds", lambda *_: [base])
    names = [row["contender"] for row in bound_rows(task, "test", windows, ("score",))]
    assert names == ["bound of score", *([SERVED_BOUND] if is_there else [])]


def test_all_windows_share_the_time(small_schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task, windows = SiteTask(str(small_schema)), [Window(0, 0, 72), Window(0, 100, 24)]
    base, left, clock = bound(task, windows[0], "score"), list[float](), iter((0.0, 1.0, 21.0))

    def of(task: SiteTask, window: Window, objective: str, most_seconds: float) -> Bound:
        left.append(most_seconds)
        return base

    monkeypatch.setattr(rows, "bound", of)
    monkeypatch.setattr("envs.yardsticks.rows.time.monotonic", lambda: next(clock))
    bound_rows(task, "test", windows, ("score",), 30.0)
    assert left == [29.0, 9.0]


def test_what_takes_too_long_is_stopped(small_schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILDING_TUNER_CACHE", str(tmp_path))
    task, windows = SiteTask(str(small_schema)).judged, [Window(0, 0, 240)]

    def stop(done: float) -> None:
        raise TooLongError

    with pytest.raises(TooLongError):
        bound_rows(task, "train", windows, ("score",), 0.0)
    with pytest.raises(TooLongError):
        mpc_rows(task, "train", windows, "yesterday", stop)
    # Nothing of it is in the cache.
    assert len(bound_rows(task, "train", windows, ("score",))) == len(mpc_rows(task, "train", windows, "yesterday")) == 1
