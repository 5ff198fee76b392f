"""Series of a generated year: hours, load, weather, PV and charging sessions, each from a random stream of its own."""

import math
import zlib
from dataclasses import dataclass
from importlib import resources

import numpy as np
import pandas as pd
import pvlib
from scipy import stats

from envs.scenarios.entries import Session
from envs.scenarios.iquitos.site import (
    ALTITUDE,
    ARRIVAL_FACTOR,
    CLOSING_HOUR,
    DAYS,
    LATITUDE,
    LONGITUDE,
    ROWS,
    TIME_ZONE,
    Pv,
    Site,
    SocketType,
)
from envs.scenarios.schema_shape import FORECAST_HOURS


@dataclass(frozen=True)
class Calendar:
    """The rows of a year as arrays of shape (ROWS,)."""

    month: np.ndarray  # 0-11
    hour: np.ndarray  # of the day, 0-23; a row covers the hour that begins then
    weekday: np.ndarray  # 0 Monday to 6 Sunday. The year's first day is weekday `year % 7`, so years differ.
    middle: pd.DatetimeIndex  # middle of each hour, for the sun's position


def calendar(year: int) -> Calendar:
    """Calendar of a year of 365 days."""
    # The sun repeats every year, so any year without a leap day gives its position.
    start = pd.date_range("2025-01-01", periods=ROWS, freq="h", tz=TIME_ZONE)
    day = np.arange(ROWS) // 24
    return Calendar(start.month.to_numpy() - 1, start.hour.to_numpy(), (year + day) % 7, start + pd.Timedelta(minutes=30))


def stream(year: int, *names: str) -> np.random.Generator:
    """Random stream of one ingredient of a year: adding an ingredient leaves the others as they were."""
    return np.random.default_rng([year, *(zlib.crc32(name.encode()) for name in names)])


def autoregressive(rng: np.random.Generator, size: int, lag_1: float) -> np.ndarray:
    """Stationary Gaussian AR(1) series, shape (size,), mean 0, variance 1, lag-1 correlation `lag_1`."""
    series = rng.standard_normal(size)
    for i in range(1, size):
        series[i] = lag_1 * series[i - 1] + np.sqrt(1.0 - lag_1**2) * series[i]
    return series


def by_day(daily: np.ndarray) -> np.ndarray:
    """Spread one value a day, shape (DAYS,), over the year's rows, shape (ROWS,)."""
    return np.append(np.repeat(daily, 24), daily[0])


def table(name: str) -> np.ndarray:
    """Table `tables/NAME.csv` without its header and its column of hours, shape (24, columns)."""
    with resources.files("envs.scenarios.iquitos").joinpath("tables", f"{name}.csv").open(encoding="utf-8") as file:
        return np.loadtxt(file, delimiter=",", skiprows=1)[:, 1:]


LOAD_SIGMA = 0.072  # coefficient of variation of a day's energy around its month and day type
LOAD_LAG_1 = 0.40


def mall_load(year: int, cal: Calendar) -> np.ndarray:
    """Load of a year [kW], shape (ROWS,): month-by-hour mean x day type's profile x the day's deviation."""
    columns = table("mall_day_type_kw")  # all days, weekday, Saturday, Sunday
    day_type = np.select([cal.weekday == 5, cal.weekday == 6], [2, 3], default=1)
    profile = columns[cal.hour, day_type] / columns[cal.hour, 0]
    # Log-normal with mean 1 and the wanted coefficient of variation.
    sigma = np.sqrt(np.log(1.0 + LOAD_SIGMA**2))
    deviation = sigma * autoregressive(stream(year, "load"), DAYS, LOAD_LAG_1)
    return table("mall_load_kw")[cal.hour, cal.month] * profile * by_day(np.exp(deviation - sigma**2 / 2.0))


# The mean over a day is scaled by a beta-distributed factor of mean 1: skewed to the left, as days
# can be much darker than usual but hardly brighter. The shape gives the inverter's daily energy its
# coefficient of variation of 0.146.
CLOUD_SHAPE = (3.8, 0.85)
CLOUD_LAG_1 = 0.18
HOUR_SIGMA = 0.15
HOUR_LAG_1 = 0.41
# Passing clouds reflect: an hour may exceed the clear sky by this much.
CLEAR_SKY_LIMIT = 1.1

FORECAST_SKILL = (0.8, 0.7, 0.6)  # correlation of a forecast's deviation from the mean with the actual one
TEMPERATURE_SIGMA = 0.8  # K, of a day around the month's mean


@dataclass(frozen=True)
class Weather:
    """Irradiance [W/m2], temperature [C], humidity [%], the sun's position, shape (ROWS,); 3 `forecasts` of each column."""

    ghi: np.ndarray
    dni: np.ndarray
    dhi: np.ndarray
    temperature: np.ndarray
    humidity: np.ndarray
    zenith: np.ndarray
    azimuth: np.ndarray
    forecasts: dict[str, tuple[np.ndarray, ...]]


def weather(year: int, cal: Calendar) -> Weather:
    """Weather of a year; irradiance after Erbs et al. (1982), the clear sky Haurwitz (1945), both through pvlib."""
    sun = pvlib.solarposition.get_solarposition(cal.middle, LATITUDE, LONGITUDE, altitude=ALTITUDE)
    zenith, azimuth = sun["zenith"].to_numpy(), sun["azimuth"].to_numpy()
    clear = pvlib.clearsky.haurwitz(sun["apparent_zenith"])["ghi"].to_numpy()

    mean_ghi = table("ghi_w_per_m2")[cal.hour, cal.month]
    ratio = _clearness(year)
    # At sunrise and sunset the table can exceed the clear sky of the hour's middle; then the table is the limit.
    ghi = np.minimum(mean_ghi * ratio, np.maximum(CLEAR_SKY_LIMIT * clear, mean_ghi))
    dni, dhi = _decompose(ghi, zenith, cal)

    deviation = TEMPERATURE_SIGMA * by_day(autoregressive(stream(year, "temperature"), DAYS, 0.6))
    mean_temperature = table("air_temperature_c")[cal.hour, cal.month]
    temperature = mean_temperature + deviation
    # Relative humidity falls as the air warms above the night's near-saturation.
    humidity = np.clip(97.0 - 4.5 * (temperature - 23.0), 40.0, 100.0)

    rng = stream(year, "forecast")
    mean_dni, mean_dhi = _decompose(mean_ghi, zenith, cal)
    forecasts = {
        "diffuse_solar_irradiance": _forecasts(rng, mean_dhi, dhi),
        "direct_solar_irradiance": _forecasts(rng, mean_dni, dni),
        "outdoor_dry_bulb_temperature": _forecasts(rng, mean_temperature, temperature),
        "outdoor_relative_humidity": tuple(np.roll(humidity, -h) for h in FORECAST_HOURS),
    }
    return Weather(ghi, dni, dhi, temperature, humidity, zenith, azimuth, forecasts)


def _clearness(year: int) -> np.ndarray:
    """Irradiance over its month-by-hour mean, shape (ROWS,), mean 1."""
    day_quantile = stats.norm.cdf(autoregressive(stream(year, "cloudiness", "day"), DAYS, CLOUD_LAG_1))
    distribution = stats.beta(*CLOUD_SHAPE)
    day = distribution.ppf(day_quantile) / distribution.mean()
    hour = HOUR_SIGMA * autoregressive(stream(year, "cloudiness", "hour"), ROWS, HOUR_LAG_1)
    return by_day(day) * np.exp(hour - HOUR_SIGMA**2 / 2.0)


def _decompose(ghi: np.ndarray, zenith: np.ndarray, cal: Calendar) -> tuple[np.ndarray, np.ndarray]:
    parts = pvlib.irradiance.erbs(ghi, zenith, cal.middle)
    return np.asarray(parts["dni"]), np.asarray(parts["dhi"])


def _forecasts(rng: np.random.Generator, mean: np.ndarray, actual: np.ndarray) -> tuple[np.ndarray, ...]:
    """Predictions of a series, one array of shape (ROWS,) per horizon of `FORECAST_HOURS`.

    With x the deviation from the mean and s the skill, a forecast is the mean plus
    s^2 x + s sqrt(1 - s^2) noise. Of all linear forecasts that correlate with x by s, it is the best.
    """
    deviation = actual - mean
    # The noise is as large as the deviation usually is at such an hour, so nights stay dark.
    spread = np.sqrt(np.convolve(deviation**2, np.ones(24 * 15) / (24 * 15), mode="same")) * np.sign(np.abs(mean))
    predictions = []
    for hours, skill in zip(FORECAST_HOURS, FORECAST_SKILL, strict=True):
        noise = np.sqrt(1.0 - skill**2) * spread * rng.standard_normal(ROWS)
        predicted = mean + skill**2 * deviation + skill * noise
        predictions.append(np.roll(np.maximum(predicted, 0.0), -hours))
    return tuple(predictions)


def irradiance_on_modules(pv: Pv, sky: Weather, cal: Calendar) -> np.ndarray:
    """Irradiance in the plane of the modules [W/m2], shape (ROWS,), after Hay and Davies (1980)."""
    parts = pvlib.irradiance.get_total_irradiance(
        pv.tilt, pv.azimuth, sky.zenith, sky.azimuth, sky.dni, sky.ghi, sky.dhi,
        dni_extra=pvlib.irradiance.get_extra_radiation(cal.middle).to_numpy(), model="haydavies",
    )  # fmt: skip
    return np.nan_to_num(np.asarray(parts["poa_global"]))


def power_before_limit(pv: Pv, sky: Weather, cal: Calendar) -> np.ndarray:
    """Power without the inverter's limit [kW], shape (ROWS,): PVWatts (Dobos 2014) at Faiman's temperature (2008)."""
    plane = irradiance_on_modules(pv, sky, cal)
    cell = pvlib.temperature.faiman(plane, sky.temperature)
    return pvlib.pvsystem.pvwatts_dc(plane, cell, pv.kwp, pv.temperature_coefficient) * (1.0 - pv.system_loss)


def ac_power(pv: Pv, sky: Weather, cal: Calendar) -> np.ndarray:
    """Power at the inverter [kW], shape (ROWS,)."""
    return np.minimum(power_before_limit(pv, sky, cal), pv.inverter_kw)


ARRIVAL_SOC = (0.245, 0.12)  # mean and standard deviation, clipped to 0-1
TARGET_SOC = (0.78, 0.15)  # likewise, and above the arrival's
SHORT_STAY = (1, 2)  # hours, both ends included
LONG_STAY = (4, 8)


def sessions(site: Site, kind: SocketType, number: int, year: int) -> list[Session]:
    """Sessions of socket `number` of a kind in a year, in order of time.

    Every row a free socket sees a Poisson arrival with the kind's rate times the hour's factor.
    After a departure the socket stays empty for one row: CityLearn shows a stale state of charge where one session follows
    another immediately.
    """
    rng = stream(year, site.name, kind.name, str(number))
    chances = {hour: -math.expm1(-kind.arrival_rate * factor) for hour, factor in ARRIVAL_FACTOR.items()}
    visits = []
    for day in range(DAYS):
        free_from = 0
        for hour, chance in chances.items():
            if hour < free_from or rng.random() >= chance:
                continue
            longest = LONG_STAY if rng.random() < site.long_stay_share else SHORT_STAY
            leaves = min(hour + int(rng.integers(longest[0], longest[1] + 1)), CLOSING_HOUR)
            arrival_soc, target_soc = _states_of_charge(rng)
            visits.append(Session(day * 24 + hour, day * 24 + leaves, arrival_soc, target_soc))
            free_from = leaves + 1
    return visits


def _states_of_charge(rng: np.random.Generator) -> tuple[float, float]:
    while True:
        # Rounded as in the files, so that reading them gives the drawn values.
        arrival, target = (round(min(max(rng.normal(*soc), 0.0), 1.0), 4) for soc in (ARRIVAL_SOC, TARGET_SOC))
        if target > arrival:
            return arrival, target
