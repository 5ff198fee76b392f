"""Sites of meters' files: they run, and have the amounts of the files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from common.errors import UserError
from envs.environments.backend import beyond_batch
from envs.scenarios.metered import SiteOptions
from envs.scenarios.metered.making import make_site
from envs.scenarios.scenario import scenario


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"load": ""}, "--load FILE is missing"),
        ({"load": "missing.csv"}, "missing.csv"),
        (
            {"battery_kwh": (), "battery_kw": (), "sessions": "", "vehicle_kwh": 0.0, "charger_kw": 0.0},
            "nothing can be controlled",
        ),
        ({"battery_kw": ()}, "belong together"),
        ({"battery_kw": ("Home_C=3",)}, "no building there is called Home_C"),
        ({"pv_kw": ()}, "--pv-kw, and --pv or --weather, belong together"),
        ({"pv": ""}, "--pv-kw, and --pv or --weather, belong together"),
        ({"weather": "berlin.epw"}, "--pv has what --weather would compute"),
        ({"pv_tilt": 30.0}, "--pv-tilt acts on --weather"),
        ({"battery_kwh": ("8", "9")}, "--battery-kwh 8 9: one number is for all buildings"),
        ({"battery_kw": ("Home_B=3", "Home_B=4")}, "--battery-kw Home_B=3 Home_B=4: .* for each its own write one NAME=NUMBER"),
        ({"battery_kw": ("Home_B=1e8",)}, "--battery-kw Home_B=1e8: write a number above 0 and below 10,000,000, or"),
        ({"charger_kw": 2e5}, "--charger-kw, a number above 0 and up to 100,000$"),
        ({"price": "0,32"}, r"--price 0,32: there is no such file; a number has a point: 0\.32"),
        ({"carbon": "nowhere.csv"}, "--carbon nowhere.csv: there is no such file$"),
        ({"carbon": "400"}, "--carbon: it is 400 kg of CO2 for a kWh"),
        ({"carbon": "-9"}, "^--carbon: it is -9 kg of CO2 for a kWh"),
        ({"price": "1e9"}, r"^--price: it is 1e\+09 for a kWh, and up to 1,000,000 is taken$"),
        ({"pv_kw": ("0.1",)}, r"--pv: Home_A generates up to .* kWh in an hour, and its PV has 0\.1 kW"),
        ({"pv": "", "weather": "nowhere.epw"}, "--weather .*nowhere.epw: No such file"),
        ({"pv_kw": ("Home_A=4", "Home_B=3")}, "no building there is called Home_B"),
        ({"seed": 1}, "--seed acts on --example"),
        ({"example": True}, "--example has files of its own"),
        ({"fill": -1}, "--fill -1"),
        ({"vehicle_kwh": 0.0}, "--vehicle-kwh"),
        ({"vehicle_kwh": 30.0}, "line 3: energy_kwh is 40"),
    ],
)
def test_what_is_missing_gets_a_line_and_no_folder_stays(given: SiteOptions, change: dict[str, object], words: str) -> None:
    with pytest.raises(UserError, match=words):
        make_site(replace(given, **change))
    assert not given.folder.exists()


def test_a_site_that_no_command_could_split_is_refused(given: SiteOptions) -> None:
    load = pd.read_csv(given.load)
    load.iloc[: 4 * 24].to_csv(given.load, index=False)
    with pytest.raises(
        UserError, match="steps, one fewer than rows; to train, validate and test on it takes at least 121 rows"
    ):
        make_site(given)
    assert not given.folder.exists()


def test_a_folder_that_is_there_stays_as_it_is(given: SiteOptions) -> None:
    given.folder.mkdir()
    with pytest.raises(UserError, match="is there already"):
        make_site(given)
    assert given.folder.is_dir()


def test_two_files_of_one_name_are_refused(given: SiteOptions) -> None:
    sessions = Path(given.sessions)
    sessions.write_text(sessions.read_text(encoding="utf-8").replace(",right,", ",LEFT,"), encoding="utf-8")
    with pytest.raises(UserError, match="names two files of the site"):
        make_site(given)
    assert not given.folder.exists()


def test_what_another_file_does_not_cover_is_said_and_so_is_less_than_a_year(given: SiteOptions, tmp_path: Path) -> None:
    lines = make_site(given)
    assert "21 days: amounts of a year are scaled from them, whatever other seasons are like" in lines
    assert not any("left out" in line for line in lines if line.startswith("--"))
    pv = pd.read_csv(given.pv).head(24 * 14)
    pv.to_csv(given.pv, index=False)
    shorter = make_site(replace(given, folder=tmp_path / "shorter"))
    assert "--pv has 2024-03-20 to 2024-04-02: 168 of 504 hours of the load are left out" in shorter


@pytest.mark.parametrize(
    ("given_price", "unit", "price", "money"),
    [
        ("0.2", "", 0.2, ""), ("200", "PEN/MWh", 0.2, "PEN"), ("prices.csv", "", 0.3, "CHF"),
        ("prices.csv", "CHF/kWh", 0.3, "CHF"),
    ],
)  # fmt: skip
def test_prices_are_for_a_kwh_in_the_money_that_their_unit_says(
    given: SiteOptions, tmp_path: Path, given_price: str, unit: str, price: float, money: str
) -> None:
    if given_price.endswith(".csv"):
        prices = pd.read_csv(given.load).iloc[:, :1].assign(**{"p (CHF/kWh)": price})
        prices.to_csv(tmp_path / given_price, index=False)
        given_price = str(tmp_path / given_price)
    lines = make_site(replace(given, price=given_price, price_unit=unit))
    assert f"price: {price} {money}".rstrip() + " for a kWh" in lines
    assert scenario(str(given.folder)).currency == money
    assert pd.read_csv(given.folder / "pricing.csv")["electricity_pricing"].iloc[0] == pytest.approx(price)


def test_a_load_that_no_site_draws_is_refused_by_the_name_of_its_building(given: SiteOptions) -> None:
    load = pd.read_csv(given.load)
    load.iloc[30, 1] = 2e6
    load.to_csv(given.load, index=False)
    with pytest.raises(UserError, match=r"--load: Home_A uses up to 2e\+06 kWh in an hour; is the unit another one"):
        make_site(given)


def test_a_load_beside_which_batteries_are_nothing_is_doubted(given: SiteOptions, tmp_path: Path) -> None:
    assert "units?" not in make_site(given)[0]
    load = pd.read_csv(given.load).rename(columns=lambda name: name.replace("kWh", "MWh"))
    load.to_csv(given.load, index=False)
    assert (
        "kW on average beside batteries of 3 kW, which can do next to nothing (units?)"
        in make_site(replace(given, folder=tmp_path / "large"))[0]
    )


def test_a_site_has_what_its_meters_have_measured(given: SiteOptions) -> None:
    first, *others = make_site(given)
    assert "2 buildings, 2024-03-20 to 2024-04-09" in first
    assert "3 charging sessions" in first
    assert any("2 sessions left out" in line for line in others)
    # 40 kWh in four hours
    assert "doubtful: 1 session with more energy than --charger-kw gives in the whole hours" in others
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
    # The day of the change has 23 hours, and the last one all of its own.
    assert len(home) == len(local)
    assert home["hour"].iloc[-1] == 24


def test_forecasts_of_prices_are_those_that_come_and_behind_the_end_those_of_the_last_day(
    given: SiteOptions, tmp_path: Path
) -> None:
    price = np.arange(24 * 21) / 1e3
    prices = pd.read_csv(given.load)[["time"]].assign(**{"price (EUR/kWh)": price})
    prices.to_csv(tmp_path / "price.csv", index=False)
    make_site(replace(given, price=str(tmp_path / "price.csv")))
    written = pd.read_csv(given.folder / "pricing.csv")
    assert written["electricity_pricing"].to_numpy() == pytest.approx(price)
    for number, ahead in ((1, 6), (2, 12), (3, 24)):
        forecast = written[f"electricity_pricing_predicted_{number}"].to_numpy()
        assert forecast[:-ahead] == pytest.approx(price[ahead:])
        assert forecast[-ahead:] == pytest.approx(price[-24:][:ahead])
