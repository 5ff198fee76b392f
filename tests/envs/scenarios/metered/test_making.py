"""Sites of meters' files: they run, and have the amounts of the files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from common.errors import UserError
from envs.environments.backend import beyond_batch
from envs.scenarios.metered.making import make_site
from envs.scenarios.metered.options import SiteOptions
from envs.scenarios.scenario import scenario

DAYS = 21
HOURS = pd.date_range("2024-03-20", periods=24 * DAYS, freq="h")


@pytest.fixture
def given(tmp_path: Path) -> SiteOptions:
    """Files of two homes, of which one has PV and two chargers."""
    rng = np.random.default_rng(0)
    times = {"time": HOURS.strftime("%Y-%m-%d %H:%M")}
    load = {"Home A (kWh)": rng.uniform(0.2, 2.0, len(HOURS)), "Home B (kWh)": rng.uniform(0.2, 2.0, len(HOURS))}
    pv = {"Home A (kWh)": np.clip(np.sin((HOURS.hour - 6) / 12 * np.pi), 0.0, None) * 3.0}
    pd.DataFrame(times | load).to_csv(tmp_path / "load.csv", index=False)
    pd.DataFrame(times | pv).to_csv(tmp_path / "pv.csv", index=False)
    (tmp_path / "sessions.csv").write_text(
        "building,charger,arrival,departure,energy_kwh\n"
        "Home_A,left,2024-03-20 18:20,2024-03-21 07:40,10\n"
        "Home_A,left,2024-03-21 08:00,2024-03-21 12:00,40\n"
        "Home_A,right,2024-03-20 19:00,2024-03-21 07:00,20\n"
        "Home_A,right,2024-03-22 19:10,2024-03-22 19:50,2\n"
        "Home_A,right,2024-03-19 19:00,2024-03-20 07:00,20\n",
        encoding="utf-8",
    )
    return SiteOptions(
        tmp_path / "site", load=str(tmp_path / "load.csv"), pv=str(tmp_path / "pv.csv"), pv_kw=("Home_A=4",),
        battery_kwh=("Home_B=8",), battery_kw=("Home_B=3",), price="0.2", carbon="0.4", sessions=str(tmp_path / "sessions.csv"),
        vehicle_kwh=40.0, charger_kw=7.4,
    )  # fmt: skip


def test_a_site_has_what_its_meters_have_measured(given: SiteOptions) -> None:
    first, *others = make_site(given)
    assert "2 buildings, 2024-03-20 to 2024-04-09" in first
    assert "3 charging sessions" in first
    assert any("2 sessions are left out" in line for line in others)
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


def test_a_vehicle_is_there_in_whole_hours_and_leaves_with_the_energy_that_it_got(given: SiteOptions) -> None:
    make_site(given)
    left = pd.read_csv(given.folder / "Home_A_left.csv")
    plugged = left[left["electric_vehicle_charger_state"] == 1]
    # From the first whole hour, 19 to 7 o'clock, then 8 to 12.
    assert plugged.index.tolist() == [*range(19, 31), *range(32, 36)]
    assert plugged["electric_vehicle_estimated_soc_arrival"].dropna().tolist() == [0.75, 0.0]
    assert (plugged["electric_vehicle_required_soc_departure"] == 1.0).all()


def test_the_clock_is_that_of_the_people_there(given: SiteOptions, tmp_path: Path) -> None:
    local = pd.date_range("2024-03-20", periods=24 * DAYS - 1, freq="h", tz="Europe/Berlin")
    pd.DataFrame({"time": local.strftime("%Y-%m-%d %H:%M"), "home (kWh)": 1.0}).to_csv(tmp_path / "local.csv", index=False)
    make_site(
        SiteOptions(given.folder, load=str(tmp_path / "local.csv"), battery_kwh=("8",), battery_kw=("3",), zone="Europe/Berlin")
    )
    home = pd.read_csv(given.folder / "home.csv")
    switch = 24 * 11  # the night to the 31st of March
    assert home["hour"].tolist()[switch : switch + 4] == [1, 2, 4, 5]
    assert home["daylight_savings_status"].tolist()[switch : switch + 4] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"load": ""}, "--load FILE is missing"),
        ({"load": "missing.csv"}, "missing.csv"),
        ({"battery_kwh": (), "battery_kw": (), "sessions": ""}, "nothing can be controlled"),
        ({"battery_kw": ()}, "belong together"),
        ({"battery_kw": ("Home_C=3",)}, "no building is called Home_C"),
        ({"pv_kw": ()}, "nominal power of the PV of Home_A is missing"),
        ({"pv": ""}, "--pv-kw needs"),
        ({"vehicle_kwh": 0.0}, "--vehicle-kwh"),
        ({"vehicle_kwh": 30.0}, "line 3: energy_kwh is 40"),
    ],
)
def test_what_is_missing_gets_a_line_and_no_folder_stays(given: SiteOptions, change: dict[str, object], words: str) -> None:
    with pytest.raises(UserError, match=words):
        make_site(replace(given, **change))
    assert not given.folder.exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("arrival,departure,energy_kwh\n", "no rows"),
        ("arrival,departure,energy_kwh\n2024-03-21 18:00,2024-03-22 07:00,9\n", "no column building"),
        ("building,arrival,departure,kwh\nHome_A,2024-03-21 18:00,2024-03-22 07:00,9\n", "unknown column 'kwh'"),
        ("building,arrival,departure\nHome_A,2024-03-21 18:00,2024-03-22 07:00\n", "energy_kwh, or arrival_soc"),
        ("building,arrival,departure,energy_kwh\nHome_Z,2024-03-21 18:00,2024-03-22 07:00,9\n", "'Home_Z' is not in --load"),
        ("building,arrival,departure,energy_kwh\nHome_A,2024-03-22 18:00,2024-03-22 07:00,9\n", "departure is not after"),
        (
            "building,arrival,departure,energy_kwh\nHome_A,2024-03-21 18:00,2024-03-22 07:00,9\n"
            "Home_A,2024-03-22 05:00,2024-03-22 09:00,9\n",
            "two vehicles are at charger at 2024-03-22 05:00",
        ),
        (
            "building,arrival,departure,arrival_soc,required_soc\nHome_A,2024-03-21 18:00,2024-03-22 07:00,20,80\n",
            "from 0 to 1",
        ),
    ],
)
def test_sessions_that_cannot_be_are_refused(given: SiteOptions, text: str, words: str) -> None:
    Path(given.sessions).write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=words):
        make_site(given)


def test_a_folder_that_is_there_stays_as_it_is(given: SiteOptions) -> None:
    given.folder.mkdir()
    with pytest.raises(UserError, match="is there already"):
        make_site(given)
    assert given.folder.is_dir()


def test_an_example_is_made_of_files_that_make_its_like(tmp_path: Path) -> None:
    example = SiteOptions(tmp_path / "one", example=True, seed=3)
    *_, how = make_site(example)
    assert "--battery-kwh 10" in how
    make_site(replace(example, folder=tmp_path / "two"))
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.csv"))
    assert len(files) == 13
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    make_site(replace(example, folder=tmp_path / "other", seed=4))
    assert (tmp_path / "other" / "Home_1.csv").read_bytes() != (tmp_path / "one" / "Home_1.csv").read_bytes()
