"""Writes a generated year as a CityLearn scenario: schema, series and tariff file."""

from pathlib import Path
from typing import Any

import numpy as np

from common.units import YEAR
from envs.scenarios import entries
from envs.scenarios.entries import ACTIONS, AT_CHARGERS, Building, Socket
from envs.scenarios.iquitos import site as parameters
from envs.scenarios.iquitos.series import Calendar, Weather, ac_power, calendar, mall_load, sessions, weather
from envs.scenarios.iquitos.site import Site
from envs.scenarios.schema_shape import AHEAD
from envs.scenarios.tariff import write_tariff

BATTERY = (1700.0, 400.0)  # kWh, kW
OBSERVATIONS = (
    "month", "day_type", "hour",
    *(f"{kind}_solar_irradiance{ahead}" for kind in ("diffuse", "direct") for ahead in AHEAD),
    "non_shiftable_load", "solar_generation", "electrical_storage_soc", "net_electricity_consumption",
    *(f"electricity_pricing{ahead}" for ahead in AHEAD), *AT_CHARGERS,
)  # fmt: skip


def write_year(site: Site, year: int, folder: Path) -> None:
    """Write one year of a site, 0 or more, into an existing, empty folder; the same number gives the same files."""
    cal = calendar(year)
    sky = weather(year, cal)
    sockets = [
        Socket(f"{kind.name}_{number + 1:03d}", kind.power_kw, kind.battery_kwh, sessions(site, kind, number, year))
        for kind in site.sockets
        for number in range(kind.count)
    ]
    mall = Building("mall", mall_load(year, cal).round(3), ac_power(site.pv, sky, cal), site.pv.kwp, BATTERY, sockets)
    series: dict[str, dict[str, Any]] = {
        "weather": _weather_columns(sky),
        "carbon_intensity": {"carbon_intensity": parameters.CARBON_INTENSITY},
        "pricing": _pricing(cal),
    }
    observations, buildings = dict.fromkeys(OBSERVATIONS, True), {mall.name: mall.entry(series)}
    schema = entries.schema(observations, ACTIONS, buildings, entries.vehicles(sockets), YEAR)
    # CityLearn counts the hours of a day from 1 to 24.
    common = {"month": cal.month + 1, "hour": cal.hour + 1, "day_type": cal.weekday + 1, "indoor_dry_bulb_temperature": 24.0}
    entries.write_site(folder, schema, [mall], series, common)
    write_tariff(folder, parameters.CURRENCY, parameters.DEMAND_CHARGE)


def _weather_columns(sky: Weather) -> dict[str, np.ndarray]:
    columns = {
        "outdoor_dry_bulb_temperature": sky.temperature,
        "outdoor_relative_humidity": sky.humidity,
        "diffuse_solar_irradiance": sky.dhi,
        "direct_solar_irradiance": sky.dni,
    }
    for name, predictions in sky.forecasts.items():
        for i, prediction in enumerate(predictions, start=1):
            columns[f"{name}_predicted_{i}"] = prediction
    return {name: values.round(3) for name, values in columns.items()}


def _pricing(cal: Calendar) -> dict[str, np.ndarray]:
    peak = np.isin(cal.hour, parameters.PEAK_HOURS)
    price = np.where(peak, parameters.ENERGY_PRICE_PEAK, parameters.ENERGY_PRICE_OFF_PEAK)
    # The tariff is the same every day, so future prices are known.
    return {f"electricity_pricing{name}": np.roll(price, -hours) for name, hours in AHEAD.items()}
