"""What model predictive control knows of a training year is the same, whatever the other splits hold."""

from pathlib import Path

import numpy as np
import pytest

from envs.environments.year_cache import year_reference
from envs.environments.year_forecasts import train_rows, year_series
from envs.forecasts.series import KINDS
from envs.scenarios.scenario import BLOCKS, scenario
from envs.yardsticks import train_hours
from envs.yardsticks.train_hours import train_plant, train_reference, train_series
from tests.envs.changed_rows import DAY, OF_MALL, SHARED, with_other_rows
from tests.envs.tanks import with_tank

OTHERS = [day for day in range(41) if day % 5 not in BLOCKS["train"]]


@pytest.fixture(scope="module")
def changed(small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small site with other values in all hours that do not train."""
    return with_other_rows(small_schema, tmp_path_factory.mktemp("changed") / "site", OTHERS, (*SHARED, *OF_MALL))


def test_other_hours_change_neither_forecasts_nor_prices_nor_the_rewards_scale(small_schema: Path, changed: Path) -> None:
    own, other = (scenario(str(path)) for path in (small_schema, changed))
    assert own.key != other.key
    assert not np.array_equal(year_reference(own, 0).run.net_kwh, year_reference(other, 0).run.net_kwh)
    rows = [window.start + 5 for window in own.windows("train")] + [
        window.start + window.hours - 1 for window in own.windows("train")
    ]
    for method in ("seven-days", "exact"):
        first, second = (train_plant(site, 0, method, DAY) for site in (own, other))
        assert first.site.worth == second.site.worth
        np.testing.assert_array_equal(first.site.price, second.site.price)
        for row in rows:
            for kind in ("load", "pv", "carbon", "charging"):
                np.testing.assert_array_equal(first.forecast.ahead(kind, row, DAY), second.forecast.ahead(kind, row, DAY))


def test_nor_do_other_hours_change_what_is_known_of_tanks(small_schema: Path, tmp_path: Path) -> None:
    site = scenario(str(with_tank(small_schema, tmp_path, cooling=True)))
    real, known = year_series(site, 0), train_series(site, 0)
    own = train_rows(site, 0, real.rows)
    assert set(known.kinds) - set(KINDS) == {"cooling_demand", "cooling_efficiency", "dhw_demand", "dhw_efficiency"}
    for kind in set(known.kinds) - set(KINDS):
        np.testing.assert_array_equal(known.values[kind][:, own], real.values[kind][:, own])
        for hour in range(DAY):
            other = known.values[kind][:, ~own & (real.hour == hour)]
            mean = real.values[kind][:, own & (real.hour == hour)].mean()
            np.testing.assert_allclose(other, mean, rtol=1e-9)
    assert not np.array_equal(known.values["cooling_demand"], real.values["cooling_demand"])


def test_hours_of_the_train_split_are_what_they_are(small_schema: Path) -> None:
    site = scenario(str(small_schema))
    real, known = year_reference(site, 0), train_reference(site, 0)
    for window in site.windows("train"):
        part = slice(window.start, window.start + window.hours)
        np.testing.assert_array_equal(known.run.net_kwh[:, part], real.run.net_kwh[:, part])
        np.testing.assert_array_equal(known.exogenous.price[:, part], real.exogenous.price[:, part])


def test_a_year_that_trains_as_a_whole_is_taken_as_it_is(small_schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train_hours, "train_rows", lambda site, year, rows: np.ones(rows, dtype=bool))
    site = scenario(str(small_schema))
    assert train_reference(site, 0).scale == year_reference(site, 0).scale
    np.testing.assert_array_equal(train_reference(site, 0).run.net_kwh, year_reference(site, 0).run.net_kwh)
