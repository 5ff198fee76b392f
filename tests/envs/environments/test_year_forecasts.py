"""Forecasts of a scenario year: of which hours they are made, and that models are trained once."""

from pathlib import Path

import numpy as np
import pytest

from envs.environments.year_cache import year_reference
from envs.environments.year_forecasts import (
    learned_table,
    mean_error,
    site_forecast,
    train_rows,
    train_statistics,
    year_series,
)  # fmt: skip
from envs.forecasts.series import Kind, SiteSeries
from envs.scenarios.scenario import scenario

HOURS = 4


def test_series_are_those_of_the_uncontrolled_site(small_schema: Path) -> None:
    site = scenario(str(small_schema))
    series, reference = year_series(site, 0), year_reference(site, 0)
    values = series.values
    np.testing.assert_allclose(values["load"] - values["pv"] + values["charging"], reference.run.net_kwh, atol=1e-3)
    np.testing.assert_allclose(values["load"], reference.exogenous.load_kwh[:, : series.rows], atol=1e-3)
    assert series.observed.shape == (series.rows, len(series.names))
    assert not any("net_electricity" in name or "soc" in name for name in series.names)


def test_the_train_split_alone_is_learned_from(small_schema: Path) -> None:
    site = scenario(str(small_schema))
    own = train_rows(site, 0, year_series(site, 0).rows)
    assert own.sum() == sum(window.hours for window in site.windows("train"))
    for split in ("validation", "test"):
        for window in site.windows(split):  # type: ignore[arg-type]
            assert not own[window.start : window.start + window.hours].any()


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


def test_learned_forecasts_are_made_once(small_schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = scenario(str(small_schema))
    site_forecast(site, 0, "learned", HOURS)
    first = learned_table(site, 0, "pv", HOURS)
    assert first is not None
    assert first.shape == (1, year_series(site, 0).rows, HOURS - 1)

    def fail(*arguments: object) -> None:
        raise AssertionError("made again")

    for name in ("train_model", "forecast_table"):
        monkeypatch.setattr(f"envs.environments.year_forecasts.{name}", fail)
    again = learned_table(site, 0, "pv", HOURS)
    np.testing.assert_array_equal(first, again)
    found = site_forecast(site, 0, "learned", HOURS).ahead("pv", 100, HOURS)
    np.testing.assert_array_equal(found[:, 1:], first[:, 100])
