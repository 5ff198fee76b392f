"""Forecasts of a scenario year: of which hours they are made, and that models are trained once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envs.environments import year_forecasts
from envs.environments.year_cache import year_reference
from envs.environments.year_forecasts import (
    learned_model,
    learned_table,
    mean_error,
    site_forecast,
    train_rows,
    train_statistics,
    year_series,
    year_statistics,
)  # fmt: skip
from envs.forecasts import METHODS, Kind, SiteSeries
from envs.scenarios.scenario import Scenario, Splits, Window, scenario
from envs.task import SiteTask
from envs.yardsticks.mpc_runs import run_mpc
from tests.districts import FOUR, TWO, write_district

HOURS = 4


def test_series_are_those_of_the_uncontrolled_site(site: Scenario) -> None:
    series, reference = year_series(site, 0), year_reference(site, 0)
    values = series.values
    np.testing.assert_allclose(values["load"] - values["pv"] + values["charging"], reference.run.net_kwh, atol=1e-3)
    np.testing.assert_allclose(values["load"], reference.exogenous.load_kwh[:, : series.rows], atol=1e-3)
    assert series.observed.shape == (series.rows, len(series.names))
    assert not any("net_electricity" in name or "soc" in name for name in series.names)


def test_the_train_split_alone_is_learned_from(site: Scenario) -> None:
    own = train_rows(site, 0, year_series(site, 0).rows)
    assert own.sum() == sum(window.hours for window in site.windows("train"))
    for split in ("validation", "test"):
        for window in site.windows(split):  # type: ignore[arg-type]
            assert not own[window.rows].any()


def test_a_part_of_the_charging_is_of_vehicles_that_have_just_come(small_schema: Path) -> None:
    share = train_statistics(scenario(str(small_schema)), HOURS).arriving
    assert (share[..., 0] == 0.0).all()
    assert (np.diff(share, axis=-1) >= -1e-12).all()
    assert 0.3 < share[..., 1].max() <= 1.0


def test_a_series_that_repeats_has_no_error() -> None:
    values: dict[Kind, np.ndarray] = {"load": np.tile(np.arange(24.0), (1, 10)), "pv": np.zeros((1, 240))}
    series = SiteSeries(np.arange(240) % 24, values, np.zeros((240, 0)), ())
    assert mean_error([(series, np.ones(240, dtype=bool))]) == pytest.approx(0.0)
    values["pv"] = np.repeat([[0.0, 1.0]], 120, axis=1)
    assert mean_error([(series, np.ones(240, dtype=bool))]) > 0.0


def test_learned_forecasts_are_made_once(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    site_forecast(site, 0, "learned", HOURS)
    first = learned_table(site, 0, "pv", HOURS)
    assert first is not None
    assert first.shape == (1, year_series(site, 0).rows, HOURS - 1)

    for name in ("train_model", "forecast_table"):
        monkeypatch.setattr(f"envs.environments.year_forecasts.{name}", lambda *_: pytest.fail("made again"))
    again = learned_table(site, 0, "pv", HOURS)
    np.testing.assert_array_equal(first, again)
    found = site_forecast(site, 0, "learned", HOURS).ahead("pv", 100, HOURS)
    np.testing.assert_array_equal(found[:, 1:], first[:, 100])


# Buildings of the test never train. Rows before the test may be read, and there are none before the first day.
LATER = Splits(("0-19",), ("20-24",), ("30-36",), tuple(FOUR), tuple(FOUR), tuple(TWO))
FIRST = Splits(("20-36",), ("12-17",), ("0-5",), tuple(FOUR), tuple(FOUR), tuple(TWO))
# A vehicle has one charger.
CHARGERS = {"one": ["motorcycle_001"], "two": [], "five": ["motorcycle_002", "mototaxi_001"]}
SIX = {name: {**given, "chargers": CHARGERS.get(name, given["chargers"])} for name, given in {**FOUR, **TWO}.items()}
SAME_NUMBER = Splits(("0-19",), ("20-24",), ("30-36",), ("one", "two"), ("one", "two"), tuple(TWO))


@pytest.fixture(scope="module")
def six_buildings(small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_district(small_schema, tmp_path_factory.mktemp("six"), SIX))


@pytest.mark.parametrize("splits", [LATER, FIRST, SAME_NUMBER])
def test_all_methods_forecast_buildings_that_did_not_train(six_buildings: str, splits: Splits) -> None:
    site = scenario(six_buildings, splits=splits)
    (window,) = site.windows("test")
    assert bool(window.start) == (splits is not FIRST)
    series = year_series(site, window.year)
    for method in METHODS:
        forecast = site_forecast(site, window.year, method, HOURS)
        for row in (window.start, window.start + 40):
            for kind, values in series.values.items():
                found = forecast.ahead(kind, row, HOURS)
                assert found.shape == (2, HOURS)
                assert np.isfinite(found).all()
                np.testing.assert_allclose(found[:, 0], values[:, row])
            arriving = forecast.arriving(row, HOURS)
            assert arriving.shape == (2, HOURS)
            assert (arriving <= forecast.ahead("charging", row, HOURS) + 1e-9).all()
        episode = run_mpc(SiteTask(six_buildings, splits=splits), Window(window.year, window.start, 6), method, HOURS)
        assert np.isfinite(episode.reward)


def test_other_buildings_are_known_by_the_mean_of_those_that_train(six_buildings: str) -> None:
    site = scenario(six_buildings, splits=LATER)
    trained = train_statistics(site, HOURS)
    (year,) = site.years("test")
    other = year_statistics(site, year, HOURS)
    for kind, profile in trained.profile.items():
        np.testing.assert_allclose(other.profile[kind], np.tile(profile.mean(axis=0), (2, 1)))
    # A building without chargers does not make vehicles arrive later in another one.
    charges = trained.profile["charging"].sum(axis=0) > 0.0
    own = trained.arriving.max(axis=0)
    assert (other.arriving[0][charges] <= own[charges] + 1e-9).all()
    assert other.arriving[0][charges].sum() > 1.2 * trained.arriving.mean(axis=0)[charges].sum()
    assert year_statistics(site, site.years("validation")[0], HOURS) is trained


@pytest.mark.parametrize("splits", [FIRST, SAME_NUMBER])
def test_learned_forecasts_of_other_buildings_have_the_scale_of_their_history(
    six_buildings: str, splits: Splits, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, taken = scenario(six_buildings, splits=splits), []
    (window,) = site.windows("test")
    make = year_forecasts.forecast_table

    def watched(series: SiteSeries, kind: Kind, model: Any, *args: Any) -> np.ndarray:
        taken.append(model.scale)
        return make(series, kind, model, *args)

    monkeypatch.setattr(year_forecasts, "forecast_table", watched)
    learned_table(site, window.year, "load", 3)
    model = learned_model(site, "load", 3)
    assert model is not None
    if window.start:
        expected = year_series(site, window.year).values["load"][:, : window.start].mean(axis=1)
    else:
        expected = np.repeat(model.scale.mean(), 2)
    np.testing.assert_allclose(taken[0], expected)
    assert not np.allclose(expected, model.scale[:2])
