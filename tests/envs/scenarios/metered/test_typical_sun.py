"""PV by the typical weather of a place: the power that a formula gives, in the hours in which the sun shines there."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from common.errors import ScenarioError
from envs.scenarios.metered import SiteOptions
from envs.scenarios.metered.making import make_site
from envs.scenarios.metered.typical_sun import LOSS, typical_sun

DIFFUSE, WARMS = 500.0, 20.0  # W/m2, and by how many kelvins that warms a cell without wind


def write_epw(path: Path, shines: tuple[int, ...], direct: float = 0.0, gap: float | str | None = None) -> Path:
    """Weather of a place east of Greenwich, an hour before it; the sun shines in the same hours of each day."""
    lines = ["LOCATION,Somewhere,-,-,-,0,45.0,15.0,1.0,100.0", *(f"{name},0" for name in range(7))]
    for time in pd.date_range("2001-01-01", periods=8760, freq="h"):
        dhi = DIFFUSE if time.hour in shines else 0.0
        dni = direct if time.hour in shines else 0.0
        values = [0.0] * 35
        values[:5] = [time.year, time.month, time.day, time.hour + 1, 60]
        values[6], values[13], values[14], values[15], values[21] = 25.0 - WARMS, dhi + dni, dni, dhi, 0.0
        lines.append(",".join(map(str, map(int, values[:5]))) + ",x," + ",".join(map(str, values[6:])))
    if gap is not None:
        lines[5000] = lines[5000].replace(",5.0,", f",{gap},", 1)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_the_power_is_that_of_the_light_at_the_nominal_temperature(tmp_path: Path) -> None:
    sun = typical_sun(write_epw(tmp_path / "a.epw", (12,)), 0.0, None)
    assert sun.place == "Somewhere"
    assert sun.per_kw.max() == pytest.approx(DIFFUSE / 1000.0 * (1.0 - LOSS))
    assert (sun.per_kw > 0.0).sum() == 365


@pytest.mark.parametrize(
    ("has_zone", "time"),
    # Noon there is eleven o'clock in UTC, in summer too: only clocks know summer time.
    [(True, "2024-01-05 11:00"), (True, "2024-07-05 11:00"), (False, "2024-07-05 12:00"), (True, "2024-02-29 11:00")],
)
def test_hours_have_the_sun_of_the_same_hour_and_day_of_the_year(tmp_path: Path, has_zone: bool, time: str) -> None:
    sun = typical_sun(write_epw(tmp_path / "a.epw", (12,)), 0.0, None)
    hours = pd.date_range(time, periods=24, freq="h", tz="UTC")
    assert np.flatnonzero(sun.at(hours, has_zone)).tolist() == [0]


def test_modules_face_the_equator_unless_they_are_said_to_face_elsewhere(tmp_path: Path) -> None:
    file = write_epw(tmp_path / "a.epw", tuple(range(9, 16)), direct=400.0)
    south, said, north = (typical_sun(file, 40.0, azimuth).per_kw.sum() for azimuth in (None, 180.0, 0.0))
    assert south == said > 1.3 * north


def test_a_file_with_gaps_or_of_another_kind_is_refused(tmp_path: Path) -> None:
    for gap in (99.9, -999.0, "missing"):
        with pytest.raises(ScenarioError, match="it has 8,760 hours, or gaps"):
            typical_sun(write_epw(tmp_path / "a.epw", (12,), gap=gap), 0.0, None)
    whole = write_epw(tmp_path / "a.epw", (12,)).read_text(encoding="utf-8")
    for old, new, said in (
        ("2001,1,1,2,", "2001,1,1,1,", "it has 8,759 hours"),
        ("45.0,15.0", "145.0,15.0", "the latitude is 145"),
    ):
        (tmp_path / "a.epw").write_text(whole.replace(old, new), encoding="utf-8")
        with pytest.raises(ScenarioError, match=said):
            typical_sun(tmp_path / "a.epw", 0.0, None)
    (tmp_path / "b.epw").write_text("time,ghi\n1,2\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match="it is no EPW file of EnergyPlus, which begins with LOCATION"):
        typical_sun(tmp_path / "b.epw", 0.0, None)


def test_a_site_has_the_pv_of_its_place(given: SiteOptions, tmp_path: Path) -> None:
    weather = str(write_epw(tmp_path / "a.epw", tuple(range(9, 16))))
    lines = make_site(replace(given, pv="", weather=weather))
    assert any("kWh a year for each kW, by the typical weather of Somewhere" in line for line in lines)
