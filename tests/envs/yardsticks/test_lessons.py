"""Lessons of model predictive control: labels everywhere, half of the runs disturbed, and nothing of other splits in them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from common.units import WEEK
from envs.environments.vector_env import Start
from envs.environments.year_cache import year_reference
from envs.environments.year_forecasts import train_rows, year_series
from envs.forecasts import KINDS
from envs.scenarios.scenario import BLOCKS, Scenario, Window, scenario
from envs.task import SiteTask
from envs.yardsticks import lessons as taught
from envs.yardsticks.lessons import (
    MOST_HOURS,
    Lessons,
    lesson_windows,
    lessons,
    parts_of,
    teach,
    train_reference,
    train_series,
)
from tests.envs.changed_rows import DAY, OF_MALL, SHARED, with_other_rows
from tests.envs.tanks import with_tank

# Day 3 trains between days that validate and test.
STARTS = [Start(Window(0, 72, 24), charge) for charge in (0.1, 0.6)]


OTHERS = [day for day in range(41) if day % 5 not in BLOCKS["train"]]


@pytest.fixture(scope="module")
def changed(small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small site with other values in all hours that do not train."""
    return with_other_rows(small_schema, tmp_path_factory.mktemp("changed") / "site", OTHERS, (*SHARED, *OF_MALL))


def test_each_second_run_is_disturbed_and_all_labels_are_the_teachers(
    small_schema: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taught, "METHOD", "seven-days")
    told: list[float] = []
    found = teach(SiteTask(str(small_schema)), STARTS, on_progress=told.append)
    assert found.labels.shape == found.executed.shape == (2, 24, 5)
    np.testing.assert_array_equal(found.executed[0], found.labels[0])
    assert np.abs(found.executed[1] - found.labels[1]).mean() > 0.1
    assert np.abs(found.labels).max() <= 1.0
    # From another charge it does something else.
    assert not np.array_equal(found.labels[0], found.labels[1])
    assert told[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("method", ["seven-days", "exact", pytest.param("learned", marks=pytest.mark.slow)])
def test_hours_that_do_not_train_change_no_bit_of_them(
    small_schema: Path, changed: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taught, "METHOD", method)
    own, other = (teach(SiteTask(str(path)), STARTS) for path in (small_schema, changed))
    np.testing.assert_array_equal(own.labels, other.labels)
    np.testing.assert_array_equal(own.executed, other.executed)


def test_parts_cover_the_train_split_and_are_made_once(small_schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task, made = SiteTask(str(small_schema)), []
    site = task.site

    def fake(task: Any, starts: Sequence[Start], *rest: Any) -> Lessons:
        made.append(len(starts))
        shape = len(starts), max(start.window.hours for start in starts), 2
        return Lessons(tuple(starts), np.full(shape, len(made), np.float32), np.zeros(shape, np.float32))

    monkeypatch.setattr(taught, "teach", fake)
    monkeypatch.setattr(taught, "METHOD", "yesterday")  # of which no other test has lessons
    monkeypatch.setattr(taught, "WEEKS_OF_PART", 6)
    found = lessons(task)
    assert len(made) == parts_of(site) > 1
    assert sum(made) == 2 * len(lesson_windows(site)) == len(found.starts) == len(found.labels)
    hours = [hour for start in found.starts[::2] for hour in range(start.window.start, start.window.start + start.window.hours)]
    assert hours == [hour for window in site.windows("train") for hour in range(window.start, window.start + window.hours)]
    assert len({start.charge for start in found.starts}) == len(found.starts)
    assert all(0.0 <= start.charge <= 1.0 for start in found.starts)
    again = lessons(task)
    assert len(made) == parts_of(site)
    np.testing.assert_array_equal(again.executed, found.executed)


def test_of_many_years_weeks_are_taken_evenly() -> None:
    windows = lesson_windows(scenario("iquitos-38"))
    assert MOST_HOURS - WEEK <= sum(window.hours for window in windows) <= MOST_HOURS
    counts = [sum(window.year == year for window in windows) for year in (1, 4, 5)]
    assert max(counts) - min(counts) <= 1


def test_nor_do_other_hours_change_what_is_known_of_tanks(small_schema: Path, tmp_path: Path) -> None:
    site = scenario(str(with_tank(small_schema, tmp_path, cooling=True)))
    real, known = year_series(site, 0), train_series(site, 0)
    own = train_rows(site, 0, real.rows)
    assert set(known.kinds) - set(KINDS) == {"cooling_demand", "cooling_efficiency", "dhw_demand", "dhw_efficiency"}
    for kind in set(known.kinds) - set(KINDS):
        np.testing.assert_array_equal(known.values[kind][:, own], real.values[kind][:, own])
        for hour in range(DAY):
            other = known.values[kind][:, ~own & (real.slot == hour)]
            mean = real.values[kind][:, own & (real.slot == hour)].mean()
            np.testing.assert_allclose(other, mean, rtol=1e-9)
    assert not np.array_equal(known.values["cooling_demand"], real.values["cooling_demand"])


def test_hours_of_the_train_split_are_what_they_are(site: Scenario) -> None:
    real, known = year_reference(site, 0), train_reference(site, 0)
    for window in site.windows("train"):
        part = window.rows
        np.testing.assert_array_equal(known.run.net_kwh[:, part], real.run.net_kwh[:, part])
        np.testing.assert_array_equal(known.exogenous.price[:, part], real.exogenous.price[:, part])


def test_a_year_that_trains_as_a_whole_is_taken_as_it_is(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taught, "train_rows", lambda site, year, rows: np.ones(rows, dtype=bool))
    assert train_reference(site, 0).scale == year_reference(site, 0).scale
    np.testing.assert_array_equal(train_reference(site, 0).run.net_kwh, year_reference(site, 0).run.net_kwh)
