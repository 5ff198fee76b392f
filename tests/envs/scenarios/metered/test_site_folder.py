"""A site's folder has the amounts and the clock of the files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from envs.environments.backend import beyond_batch
from envs.scenarios.metered import SiteOptions
from envs.scenarios.metered.making import make_site
from envs.scenarios.scenario import scenario


def test_a_site_has_what_its_meters_have_measured(given: SiteOptions) -> None:
    first, *others = make_site(given)
    assert "2 buildings, 2024-03-20 to 2024-04-09" in first
    assert "3 charging sessions" in first
    assert any("2 sessions left out" in line for line in others)
    load, pv = (pd.read_csv(path) for path in (given.load, given.pv))
    homes = {name: pd.read_csv(given.folder / f"{name}.csv") for name in ("Home_A", "Home_B")}
    for name, home in homes.items():
        assert home["non_shiftable_load"].sum() == pytest.approx(load[name.replace("_", " ") + " (kWh)"].sum())
    # CityLearn multiplies by the nominal power.
    assert homes["Home_A"]["solar_generation"].to_numpy() * 4.0 / 1000.0 == pytest.approx(pv["Home A (kWh)"], abs=1e-6)
    assert (homes["Home_B"]["solar_generation"] == 0.0).all()
    assert homes["Home_A"]["hour"].tolist()[:25] == [*range(1, 25), 1]
    assert homes["Home_A"]["day_type"].iloc[0] == 3  # the 20th of March 2024 was a Wednesday
    site = scenario(str(given.folder / "schema.json"))
    assert site.windows("train")
    assert not beyond_batch(site)


def test_the_clock_is_that_of_the_people_there(given: SiteOptions, tmp_path: Path) -> None:
    local = pd.date_range("2024-03-20", periods=24 * 21 - 1, freq="h", tz="Europe/Berlin")
    pd.DataFrame({"time": local.strftime("%Y-%m-%d %H:%M"), "home (kWh)": 1.0}).to_csv(tmp_path / "local.csv", index=False)
    make_site(
        SiteOptions(given.folder, load=str(tmp_path / "local.csv"), battery_kwh=("8",), battery_kw=("3",), zone="Europe/Berlin")
    )
    home = pd.read_csv(given.folder / "home.csv")
    switch = 24 * 11  # the night to the 31st of March
    assert home["hour"].tolist()[switch : switch + 4] == [1, 2, 4, 5]
    assert home["daylight_savings_status"].tolist()[switch : switch + 4] == [0, 0, 1, 1]


def test_forecasts_of_prices_are_those_that_come_and_behind_the_end_those_of_the_last_day(
    given: SiteOptions, tmp_path: Path
) -> None:
    hours = pd.date_range("2024-03-20", periods=24 * 21, freq="h")
    price = np.arange(len(hours)) / 1e3
    pd.DataFrame({"time": hours, "price (EUR/kWh)": price}).to_csv(tmp_path / "price.csv", index=False)
    make_site(replace(given, price=str(tmp_path / "price.csv")))
    written = pd.read_csv(given.folder / "pricing.csv")
    assert written["electricity_pricing"].to_numpy() == pytest.approx(price)
    for number, ahead in ((1, 6), (2, 12), (3, 24)):
        forecast = written[f"electricity_pricing_predicted_{number}"].to_numpy()
        assert forecast[:-ahead] == pytest.approx(price[ahead:])
        assert forecast[-ahead:] == pytest.approx(price[-24:][:ahead])
