"""What is seen further is known in its hour: a future that differs changes nothing before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from common.units import DAY
from envs.environments import seen_rows as module
from envs.environments.seen_rows import owners, profiles, seen_bounds, seen_rows
from envs.environments.year_forecasts import year_series
from envs.forecasts.series import SiteSeries
from envs.scenarios.scenario import Scenario, scenario
from envs.seen import Seen
from tests.envs.made_up_plans import made_up_plan

CHANGED = 24 * DAY + 5  # first hour that is another


def test_profiles_are_of_hours_before() -> None:
    values = np.arange(10.0 * DAY)[np.newaxis]
    found = profiles(values, 3)
    # The same hour of the last seven days, of which the latest is `24 - ahead` hours ago.
    assert found[0, 9 * DAY].tolist() == [9 * DAY + ahead - DAY - 3 * DAY for ahead in (1, 2, 3)]
    assert found[0, 5].tolist() == [5.0] * 3


@pytest.fixture
def other_future(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All series differ from a row on."""

    def changed(scenario: Scenario, year: int) -> SiteSeries:
        series = year_series(scenario, year)
        values = {kind: own.copy() for kind, own in series.values.items()}
        for own in values.values():
            own[:, CHANGED:] = own[:, CHANGED:] * 3.0 + 7.0
        observed = series.observed.copy()
        observed[CHANGED:] += 5.0
        return replace(series, values=values, observed=observed)

    monkeypatch.setattr(module, "year_series", changed)
    seen_rows.cache_clear()
    yield
    seen_rows.cache_clear()


def test_a_future_that_differs_changes_nothing_before_it(four_buildings: Path, request: pytest.FixtureRequest) -> None:
    site, seen = scenario(str(four_buildings)), Seen(profile_hours=3)
    true = seen_rows(site, 0, seen)
    request.getfixturevalue("other_future")
    other = seen_rows(site, 0, seen)
    np.testing.assert_array_equal(other[:CHANGED], true[:CHANGED])
    assert (other[CHANGED : CHANGED + DAY] != true[CHANGED : CHANGED + DAY]).any()


def test_bounds_hold_the_training_rows_alone(four_buildings: Path) -> None:
    site, seen = scenario(str(four_buildings)), Seen(profile_hours=1)
    rows, bounds = seen_rows(site, 0, seen), seen_bounds(site, "train", seen)
    own = np.concatenate([rows[window.start : window.start + window.hours] for window in site.windows("train")])
    assert (bounds[:, 0] <= own.min(axis=0)).all()
    assert (bounds[:, 1] >= own.max(axis=0)).all()
    np.testing.assert_allclose(np.ptp(bounds, axis=1), 1.2 * np.ptp(own, axis=0), rtol=1e-5)


def test_every_column_has_an_owner(four_buildings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "shadow", made_up_plan)
    seen_rows.cache_clear()
    site, seen = scenario(str(four_buildings)), Seen(profile_hours=2, plan="yesterday")
    assert seen_rows(site, 0, seen).shape[1] == len(owners(site, 0, seen)) == len(seen.names(4))
