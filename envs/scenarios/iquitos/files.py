"""Writes a generated year as a CityLearn scenario: schema, series and tariff file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from common.units import YEAR
from envs.scenarios.iquitos import site as parameters
from envs.scenarios.iquitos.series import (
    FORECAST_HOURS,
    Calendar,
    Session,
    Weather,
    ac_power,
    calendar,
    mall_load,
    sessions,
    weather,
)
from envs.scenarios.iquitos.site import ROWS, Site, SocketType
from envs.scenarios.tariff import FILE_NAME as TARIFF_FILE
from envs.scenarios.tariff import DemandCharge

BATTERY = {
    "capacity": 1700.0,  # kWh
    "nominal_power": 400.0,  # kW
    "initial_soc": 0.5,
    "depth_of_discharge": 0.8,
    "efficiency": 0.95,
    "capacity_loss_coefficient": 1e-5,
    "loss_coefficient": 1e-4,
    "power_efficiency_curve": [[0.0, 0.83], [0.3, 0.92], [0.6, 0.95], [0.8, 0.94], [1.0, 0.91]],
    "capacity_power_curve": [[0.0, 1.0], [0.8, 1.0], [1.0, 0.95]],
}
CHARGER_EFFICIENCY = 0.95
OBSERVATIONS = (
    "month", "day_type", "hour",
    "diffuse_solar_irradiance", "diffuse_solar_irradiance_predicted_1", "diffuse_solar_irradiance_predicted_2",
    "diffuse_solar_irradiance_predicted_3", "direct_solar_irradiance", "direct_solar_irradiance_predicted_1",
    "direct_solar_irradiance_predicted_2", "direct_solar_irradiance_predicted_3",
    "non_shiftable_load", "solar_generation", "electrical_storage_soc", "net_electricity_consumption",
    "electricity_pricing", "electricity_pricing_predicted_1", "electricity_pricing_predicted_2",
    "electricity_pricing_predicted_3",
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
            (folder / f"{name}.csv").write_text(_charger_csv(name, visits), encoding="utf-8")
    demand_charge = DemandCharge(
        peak_hours=parameters.PEAK_HOURS,
        peak_price=parameters.DEMAND_PRICE_PEAK,
        off_peak_excess_price=parameters.DEMAND_PRICE_OFF_PEAK_EXCESS,
        currency="PEN",
    )
    demand_charge.write(folder / TARIFF_FILE)
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
            "dhw_demand": none,
            "cooling_demand": none,
            "heating_demand": none,
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
    columns = {"electricity_pricing": price}
    for i, hours in enumerate(FORECAST_HOURS, start=1):
        # The tariff is the same every day, so future prices are known.
        columns[f"electricity_pricing_predicted_{i}"] = np.roll(price, -hours)
    return pd.DataFrame(columns)


def _charger_csv(name: str, visits: list[Session]) -> str:
    """The socket's series; written by hand because 128 data frames cost seconds.

    Each socket has one vehicle. Its state of charge on arrival is in the arrival row, where CityLearn looks for it if the
    vehicle was not announced.
    """
    rows = ["3,,,,,,"] * ROWS
    for i, visit in enumerate(visits):
        for row in range(visit.start, visit.end):
            arrival = visit.arrival_soc if row == visit.start else ""
            rows[row] = f"1,{name},{visit.end - row},{visit.target_soc},,{arrival},{name}_{i}"
    header = (
        "electric_vehicle_charger_state,electric_vehicle_id,electric_vehicle_departure_time,"
        "electric_vehicle_required_soc_departure,electric_vehicle_estimated_arrival_time,"
        "electric_vehicle_estimated_soc_arrival,electric_vehicle_session_id"
    )
    return "\n".join([header, *rows, ""])


def _schema(site: Site) -> dict[str, Any]:
    sockets = [(kind, _socket(kind, number)) for kind in site.sockets for number in range(kind.count)]
    return {
        "random_seed": 0,
        "root_directory": None,
        "central_agent": True,
        "simulation_start_time_step": 0,
        "simulation_end_time_step": YEAR,
        "episode_time_steps": None,
        "rolling_episode_split": False,
        "random_episode_split": False,
        "seconds_per_time_step": 3600,
        "observations": {name: {"active": True, "shared_in_central_agent": True} for name in OBSERVATIONS},
        "actions": {"electrical_storage": {"active": True}, "electric_vehicle_storage": {"active": True}},
        "reward_function": {"type": "citylearn.reward_function.RewardFunction", "attributes": None},
        "electric_vehicles_def": {name: _vehicle(kind) for kind, name in sockets},
        "buildings": {
            "mall": {
                "include": True,
                "energy_simulation": "mall.csv",
                "weather": "weather.csv",
                "carbon_intensity": "carbon_intensity.csv",
                "pricing": "pricing.csv",
                "inactive_observations": [],
                "inactive_actions": [],
                "electrical_storage": _device("Battery", BATTERY),
                "pv": _device("PV", {"nominal_power": site.pv.kwp}),
                "chargers": {name: _charger(kind, name) for kind, name in sockets},
            }
        },
    }


def _device(kind: str, attributes: dict[str, Any]) -> dict[str, Any]:
    return {"type": f"citylearn.energy_model.{kind}", "autosize": False, "attributes": attributes}


def _charger(kind: SocketType, name: str) -> dict[str, Any]:
    return {
        "type": "citylearn.electric_vehicle_charger.Charger",
        "charger_simulation": f"{name}.csv",
        "noise_std": 0,
        "attributes": {
            "efficiency": CHARGER_EFFICIENCY,
            "max_charging_power": kind.power_kw,
            "min_charging_power": 0.0,
            "max_discharging_power": 0.0,
            "min_discharging_power": 0.0,
        },
    }


def _vehicle(kind: SocketType) -> dict[str, Any]:
    # All losses of charging are the charger's. Attributes left out would be drawn at random.
    battery = {
        "capacity": kind.battery_kwh,
        "nominal_power": kind.power_kw,
        "initial_soc": 0.5,
        "depth_of_discharge": 1.0,
        "efficiency": 1.0,
        "capacity_loss_coefficient": 0.0,
        "loss_coefficient": 0.0,
        "power_efficiency_curve": [[0.0, 1.0], [1.0, 1.0]],
        "capacity_power_curve": [[0.0, 1.0], [1.0, 1.0]],
    }
    return {"include": True, "battery": _device("Battery", battery)}
