"""What PV generates by its size and place, where no meter of it is there: of the typical year in a weather file."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from common.errors import ScenarioError

LOSS = 0.14  # of wiring, soiling, shading, inverter and age together: the default of NREL's PVWatts, version 5
PER_KELVIN = -0.004  # of the power, of crystalline silicon
YEAR = 2023  # that the hours of a typical year are given; it has no leap day
# What is needed of the weather, and below what the size of a number is; an EPW file writes nines for a missing one.
_NEEDED = {"ghi": 9999.0, "dni": 9999.0, "dhi": 9999.0, "temp_air": 99.9, "wind_speed": 999.0}


@dataclass(frozen=True)
class TypicalSun:
    """PV yield in the hours of a typical year.

    Attributes:
        place: as the weather file names it.
        per_kw: kWh of 1 kW, by month, day and hour of local standard time.
        offset: of that time from UTC.
    """

    place: str
    per_kw: pd.Series
    offset: pd.Timedelta

    def at(self, hours: pd.DatetimeIndex, has_zone: bool) -> np.ndarray:
        """KWh of 1 kW in hours, shape (hours,).

        Args:
            hours: their beginnings, in UTC; without a zone as the site's clock shows them, which knows no summer time.
            has_zone: whether the zone is known.
        """
        local = hours + self.offset if has_zone else hours
        day = np.where((local.month == 2) & (local.day == 29), 28, local.day)
        return self.per_kw.loc[list(zip(local.month, day, local.hour, strict=True))].to_numpy()


def typical_sun(path: Path, tilt: float, azimuth: float | None) -> TypicalSun:
    """Read an EPW file, and compute what modules yield by PVWatts' model of their power and Faiman's of their temperature.

    Args:
        path: of the file.
        tilt: of the modules, degrees from the horizontal.
        azimuth: that they face, degrees from north over east; None for the equator.

    Raises:
        ScenarioError: if it is no EPW file of a year of hours.
    """
    import pvlib

    try:
        weather, place = pvlib.iotools.read_epw(path, coerce_year=YEAR)
        if not abs(place["latitude"]) <= 90.0:
            raise ValueError(f"the latitude is {place['latitude']:g}")
    except OSError as error:
        raise ScenarioError(f"--weather {path}: {error.strerror or error}") from None
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        first = " ".join(str(error).partition(". ")[0].split())
        raise ScenarioError(
            f"--weather {path}: it is no EPW file of EnergyPlus, which begins with LOCATION and has 8,760 rows behind 8 lines "
            f"({type(error).__name__}: {first})"
        ) from None
    numbers, count = weather[list(_NEEDED)].apply(pd.to_numeric, errors="coerce"), weather.index.nunique()
    if not len(weather) == count == 8760 or not (numbers.abs() < pd.Series(_NEEDED)).to_numpy().all():
        raise ScenarioError(f"--weather {path}: it has {count:,} hours, or gaps; a typical year has 8,760 without any")
    half = pd.Timedelta(minutes=30)
    sun = pvlib.solarposition.get_solarposition(weather.index + half, place["latitude"], place["longitude"], place["altitude"])
    sun.index = weather.index
    faces = azimuth if azimuth is not None else (180.0 if place["latitude"] >= 0.0 else 0.0)
    plane = pvlib.irradiance.get_total_irradiance(
        tilt, faces, sun["apparent_zenith"], sun["azimuth"], weather["dni"], weather["ghi"], weather["dhi"]
    )["poa_global"].fillna(0.0)  # fmt: skip
    cell = pvlib.temperature.faiman(plane, weather["temp_air"], weather["wind_speed"])
    per_kw = pvlib.pvsystem.pvwatts_dc(plane, cell, 1.0, PER_KELVIN).clip(0.0, 1.0) * (1.0 - LOSS)
    hours = weather.index
    per_kw.index = pd.MultiIndex.from_arrays([hours.month, hours.day, hours.hour])
    return TypicalSun(str(place["city"]), per_kw, pd.Timedelta(hours=float(place["TZ"])))
