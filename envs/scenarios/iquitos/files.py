"""Writes a generated year as a CityLearn scenario: schema, series and tariff file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from common.units import YEAR
from envs.scenarios import entries
from envs.scenarios.entries import LITHIUM, charger_csv
from envs.scenarios.iquitos import site as parameters
from envs.scenarios.iquitos.series import (
    Calendar,
    Weather,
    ac_power,
    calendar,
    mall_load,
    sessions,
    weather,
)
from envs.scenarios.iquitos.site import ROWS, Site, SocketType
from envs.scenarios.schema_shape import AHEAD
from envs.scenarios.tariff import DemandCharge, write_tariff

BATTERY = {"capacity": 1700.0, "nominal_power": 400.0, **LITHIUM}  # kWh, kW
OBSERVATIONS = (
    "month", "day_type", "hour",
    *(f"{kind}_solar_irradiance{ahead}" for kind in ("diffuse", "direct") for ahead in AHEAD),
    "non_shiftable_load", "solar_generation", "electrical_storage_soc", "net_electricity_consumption",
    *(f"electricity_pricing{ahead}" for ahead in AHEAD),
    "electric_vehicle_charger_connected_state", "connected_electric_vehicle_at_charger_departure_time",
    "connected_electric_vehicle_at_charger_required_soc_departure", "connected_electric_vehicle_at_charger_soc",
)  # fmt: skip


def write_year(site: Site, year: int, folder: Path) -> None:
    """Write one year of a site, 0 or more, into an existing, empty folder; the same number gives the same files."""
    cal = calendar(year)
    sky = weather(year, cal)
    _building(site, year, cal, sky).to_csv(folder / "mall.csv", index=False)
    _weather_columns(sky).to_csv(folder / "weather.csv", index=False)
    _pricing(cal).to_csv(folder / "pricing.csv", index=False)
    carbon = pd.DataFrame({"carbon_intensity": np.full(ROWS, parameters.CARBON_INTENSITY)})
    carbon.to_csv(folder / "carbon_intensity.csv", index=False)
    for kind in site.sockets:
        for number in range(kind.count):
            name = _socket(kind, number)
            visits = sessions(site, kind, number, year)
            (folder / f"{name}.csv").write_text(charger_csv(name, visits, ROWS), encoding="utf-8")
    demand_charge = DemandCharge(
        peak_hours=parameters.PEAK_HOURS,
        peak_price=parameters.DEMAND_PRICE_PEAK,
        off_peak_excess_price=parameters.DEMAND_PRICE_OFF_PEAK_EXCESS,
    )
    write_tariff(folder, parameters.CURRENCY, demand_charge)
    (folder / "schema.json").write_text(json.dumps(_schema(site), indent=1), encoding="utf-8")


def _socket(kind: SocketType, number: int) -> str:
    return f"{kind.name}_{number + 1:03d}"


def _building(site: Site, year: int, cal: Calendar, sky: Weather) -> pd.DataFrame:
    none = np.zeros(ROWS)
    return pd.DataFrame(
        {
            "month": cal.month + 1,
            "hour": cal.hour + 1,  # CityLearn counts the hours of a day from 1 to 24
            "day_type": cal.weekday + 1,
            "indoor_dry_bulb_temperature": np.full(ROWS, 24.0),
            "non_shiftable_load": mall_load(year, cal).round(3),
            **dict.fromkeys(("dhw_demand", "cooling_demand", "heating_demand"), none),
            "solar_generation": (ac_power(site.pv, sky, cal) / site.pv.kwp * 1000.0).round(4),
        }
    )


def _weather_columns(sky: Weather) -> pd.DataFrame:
    columns = {
        "outdoor_dry_bulb_temperature": sky.temperature,
        "outdoor_relative_humidity": sky.humidity,
        "diffuse_solar_irradiance": sky.dhi,
        "direct_solar_irradiance": sky.dni,
    }
    for name, predictions in sky.forecasts.items():
        for i, prediction in enumerate(predictions, start=1):
            columns[f"{name}_predicted_{i}"] = prediction
    return pd.DataFrame(columns).round(3)


def _pricing(cal: Calendar) -> pd.DataFrame:
    peak = np.isin(cal.hour, parameters.PEAK_HOURS)
    price = np.where(peak, parameters.ENERGY_PRICE_PEAK, parameters.ENERGY_PRICE_OFF_PEAK)
    # The tariff is the same every day, so future prices are known.
    return pd.DataFrame({f"electricity_pricing{name}": np.roll(price, -hours) for name, hours in AHEAD.items()})


def _schema(site: Site) -> dict[str, Any]:
    sockets = [(kind, _socket(kind, number)) for kind in site.sockets for number in range(kind.count)]
    mall = entries.building(
        "mall",
        ("weather", "carbon_intensity", "pricing"),
        electrical_storage=entries.battery(BATTERY),
        pv=entries.pv(site.pv.kwp),
        chargers={name: entries.charger(f"{name}.csv", kind.power_kw) for kind, name in sockets},
    )
    vehicles = {name: entries.vehicle(kind.battery_kwh, kind.power_kw) for kind, name in sockets}
    actions = ("electrical_storage", "electric_vehicle_storage")
    return entries.schema(dict.fromkeys(OBSERVATIONS, True), actions, {"mall": mall}, vehicles, YEAR)
