"""Charging sessions become chargers with vehicles; what cannot be one is refused."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from common.errors import UserError
from envs.scenarios.metered import SiteOptions
from envs.scenarios.metered.making import make_site


def test_a_vehicle_is_there_in_whole_hours_and_leaves_with_the_energy_that_it_got(given: SiteOptions) -> None:
    make_site(given)
    left = pd.read_csv(given.folder / "Home_A_left.csv")
    plugged = left[left["electric_vehicle_charger_state"] == 1]
    # From the first whole hour, 19 to 7 o'clock, then 8 to 12.
    assert plugged.index.tolist() == [*range(19, 31), *range(32, 36)]
    assert plugged["electric_vehicle_estimated_soc_arrival"].dropna().tolist() == [0.75, 0.0]
    assert (plugged["electric_vehicle_required_soc_departure"] == 1.0).all()


def test_buildings_and_chargers_may_have_blanks_as_in_the_files_of_meters(given: SiteOptions) -> None:
    text = Path(given.sessions).read_text(encoding="utf-8").replace("Home_A,left", "Home A,the left")
    Path(given.sessions).write_text(text, encoding="utf-8")
    make_site(replace(given, pv_kw=("Home A=4",)))
    assert (given.folder / "Home_A_the_left.csv").is_file()


def test_a_session_without_a_charger_is_at_the_one_that_has_no_name(given: SiteOptions) -> None:
    text = Path(given.sessions).read_text(encoding="utf-8").replace("Home_A,left", "Home_A,")
    Path(given.sessions).write_text(text, encoding="utf-8")
    make_site(given)
    assert (given.folder / "Home_A_charger.csv").is_file()


ENERGY, STAY = "building,arrival,departure,energy_kwh\n", "2024-03-21 18:00,2024-03-22 07:00"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("arrival,departure,energy_kwh\n", "no rows"),
        (f"arrival,departure,energy_kwh\n{STAY},9\n", "no column building"),
        (f"building,arrival,departure,kwh\nHome_A,{STAY},9\n", "unknown column 'kwh'"),
        (f"id,building,arrival,departure,tariff\n7,Home_A,{STAY},9\n", "columns 'id', 'tariff'"),
        (f"{ENERGY}Home_A,{STAY},\n", "energy_kwh is missing"),
        (f"building,arrival,departure\nHome_A,{STAY}\n", "energy_kwh, or arrival_soc"),
        (f"{ENERGY}Home_Z,{STAY},9\n", "'Home_Z' is not in --load"),
        (f"{ENERGY},{STAY},9\n", "line 2: building '' is not in"),
        (f"{ENERGY}\nHome_Z,{STAY},9\n", "line 3: building 'Home_Z' is"),
        (f"{ENERGY}\nHome_A,{STAY},-9\n", "line 3: energy_kwh is -9"),
        (f"{ENERGY}Home_A,2024-03-22 18:00,2024-03-22 07:00,9\n", "departure is not after"),
        (f"{ENERGY}Home_A,2024-03-22 18:10,2024-03-22 18:50,9\n", "no session with a whole hour"),
        (
            f"{ENERGY}Home_A,{STAY},9\nHome_A,2024-03-22 05:00,2024-03-22 09:00,9\n",
            "two vehicles are at charger of Home_A at 2024-03-22 05:00",
        ),
        (f"building,arrival,departure,arrival_soc,required_soc\nHome_A,{STAY},20,80\n", "from 0 to 1"),
        (
            f"building,charger,arrival,departure,energy_kwh\nHome_A,left/1,{STAY},9\n",
            "'Home_A_left/1' names a building or a charger, so rename it: the letters",
        ),
    ],
)
def test_sessions_that_cannot_be_are_refused(given: SiteOptions, text: str, words: str) -> None:
    Path(given.sessions).write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=words):
        make_site(given)
