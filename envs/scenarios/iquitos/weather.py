"""Irradiance and temperature of a year: month-by-hour means with days and hours that differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pvlib
from scipy import stats

from envs.scenarios.iquitos.calendar import Calendar, autoregressive, by_day, stream, table
from envs.scenarios.iquitos.site import ALTITUDE, DAYS, LATITUDE, LONGITUDE, ROWS

# The mean over a day is scaled by a beta-distributed factor of mean 1: skewed to the left, as days
# can be much darker than usual but hardly brighter. The shape gives the inverter's daily energy its
# coefficient of variation of 0.146.
DAY_SHAPE = (3.8, 0.85)
DAY_LAG_1 = 0.18
HOUR_SIGMA = 0.15
HOUR_LAG_1 = 0.41
# Passing clouds reflect: an hour may exceed the clear sky by this much.
CLEAR_SKY_LIMIT = 1.1

FORECAST_HOURS = (6, 12, 24)  # CityLearn's three predictions
FORECAST_SKILL = (0.8, 0.7, 0.6)  # correlation of a forecast's deviation from the mean with the actual one
TEMPERATURE_SIGMA = 0.8  # K, of a day around the month's mean


@dataclass(frozen=True)
class Weather:
    """Series of shape (ROWS,): irradiance [W/m2], temperature [C], humidity [%], and the sun's position.

    `forecasts` maps a CityLearn weather column to its three predictions, 6, 12 and 24 h ahead.
    """

    ghi: np.ndarray
    dni: np.ndarray
    dhi: np.ndarray
    temperature: np.ndarray
    humidity: np.ndarray
    zenith: np.ndarray
    azimuth: np.ndarray
    forecasts: dict[str, tuple[np.ndarray, ...]]


def weather(year: int, cal: Calendar) -> Weather:
    """Weather of a year.

    Direct and diffuse irradiance follow Erbs et al. (1982), the clear sky Haurwitz (1945), both
    through pvlib.
    """
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
    day_quantile = stats.norm.cdf(autoregressive(stream(year, "cloudiness", "day"), DAYS, DAY_LAG_1))
    distribution = stats.beta(*DAY_SHAPE)
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
