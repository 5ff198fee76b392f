"""Files of the meters of a small neighbourhood, drawn from a seed: an example of what a site is made of."""

from pathlib import Path

import numpy as np
import pandas as pd

START = "2023-01-01"
HOMES = ("Home_1", "Home_2", "Home_3")
PV_KW = 5.0


def write_meters(folder: Path, seed: int, days: int) -> None:
    """Write `load.csv` (kW, each quarter of an hour), `pv.csv` (kWh), `price.csv` and `sessions.csv` (by the hour).

    Args:
        folder: existing.
        seed: 0 or more; the same one gives the same files.
        days: from the first of January on.
    """
    rng = np.random.default_rng(seed)
    hours = pd.date_range(START, periods=24 * days, freq="h")
    quarters = pd.date_range(START, periods=96 * days, freq="15min")
    load = {f"{home} (kW)": _load(rng, quarters).round(3) for home in HOMES}
    _write(folder / "load.csv", load, quarters)
    sun = _sun(rng, hours, days)
    _write(
        folder / "pv.csv",
        {f"{home} (kWh)": (PV_KW * sun * share).round(3) for home, share in zip(HOMES, (0.85, 0.8, 0.75), strict=True)},
        hours,
    )
    evening = (hours.hour >= 17) & (hours.hour < 21)
    _write(folder / "price.csv", {"price (EUR/kWh)": np.where(evening, 0.42, np.where(hours.hour < 6, 0.18, 0.27))}, hours)
    pd.concat([_sessions(rng, home, days) for home in HOMES]).to_csv(folder / "sessions.csv", index=False)


def _write(path: Path, columns: dict[str, np.ndarray], times: pd.DatetimeIndex) -> None:
    pd.DataFrame({"time": times.strftime("%Y-%m-%d %H:%M"), **columns}).to_csv(path, index=False)


def _load(rng: np.random.Generator, times: pd.DatetimeIndex) -> np.ndarray:
    """Load of a home in kW: a base, a morning, an evening, and what is switched on at random."""
    hour = (times.hour + times.minute / 60.0).to_numpy()
    weekend = np.asarray(times.day_of_week >= 5)
    morning = 0.6 * np.exp(-(((hour - 7.0 - 1.5 * weekend) / 1.2) ** 2))
    evening = 1.4 * np.exp(-(((hour - 19.5) / 2.2) ** 2))
    day = rng.uniform(0.7, 1.3, len(times) // 96 + 1).repeat(96)[: len(times)]
    return (0.25 + day * (morning + evening + 0.3 * weekend)) * rng.lognormal(0.0, 0.25, len(times))


def _sun(rng: np.random.Generator, times: pd.DatetimeIndex, days: int) -> np.ndarray:
    """Generation of a PV as a part of its nominal power: the sun's height at 40 degrees north, under a day's clouds."""
    day, hour = times.day_of_year.to_numpy(), times.hour.to_numpy() + 0.5
    # Cooper's formula for the declination (Solar Energy 12, 1969).
    declination = np.radians(23.45) * np.sin(2.0 * np.pi * (284 + day) / 365.0)
    latitude, angle = np.radians(40.0), np.radians(15.0 * (hour - 12.0))
    height = np.sin(latitude) * np.sin(declination) + np.cos(latitude) * np.cos(declination) * np.cos(angle)
    clouds = rng.beta(2.5, 1.2, days).repeat(24) * rng.uniform(0.8, 1.0, len(times))
    return np.clip(height, 0.0, None) * clouds


def _sessions(rng: np.random.Generator, home: str, days: int) -> pd.DataFrame:
    """Charging of a commuter's car: it comes in the evening and leaves in the morning, on five days of seven."""
    day = pd.Timestamp(START) + pd.to_timedelta(np.flatnonzero(rng.random(days - 1) < 5.0 / 7.0), "D")
    arrival = day + pd.to_timedelta(rng.normal(18.5, 1.0, len(day)).clip(16.0, 22.0).round(2), "h")
    departure = day + pd.to_timedelta(24.0 + rng.normal(7.5, 0.5, len(day)).clip(6.0, 9.0).round(2), "h")
    energy = rng.uniform(6.0, 20.0, len(day)).round(1)
    return pd.DataFrame({
        "building": home, "charger": "garage", "arrival": arrival.floor("min"), "departure": departure.floor("min"),
        "energy_kwh": energy,
    })  # fmt: skip
