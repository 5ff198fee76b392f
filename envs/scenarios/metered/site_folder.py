"""Writes the folder of a site, of series by the hour."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from envs.scenarios import entries
from envs.scenarios.entries import LITHIUM, Session
from envs.scenarios.schema_shape import AHEAD

# CityLearn needs these columns. Nobody sees them, and nothing here depends on them.
_WEATHER = {
    "outdoor_dry_bulb_temperature": 20.0,
    "outdoor_relative_humidity": 50.0,
    "diffuse_solar_irradiance": 0.0,
    "direct_solar_irradiance": 0.0,
}
SERIES = ("weather", "carbon_intensity", "pricing")  # files that are no building's
_VEHICLES = (
    "electric_vehicle_charger_connected_state", "connected_electric_vehicle_at_charger_departure_time",
    "connected_electric_vehicle_at_charger_required_soc_departure", "connected_electric_vehicle_at_charger_soc",
)  # fmt: skip
_ACTIONS = ("electrical_storage", "electric_vehicle_storage")


@dataclass(frozen=True)
class Socket:
    """A charger with the vehicles that come to it, all alike."""

    name: str
    power_kw: float
    vehicle_kwh: float
    sessions: Sequence[Session]


@dataclass(frozen=True)
class Building:
    """A building of a site.

    Attributes:
        name: also of its file.
        load_kwh: shape (hours,).
        pv_kwh: likewise; None without PV.
        pv_kw: nominal power of the PV.
        battery: kWh and kW; None without one.
        sockets: its chargers.
    """

    name: str
    load_kwh: np.ndarray
    pv_kwh: np.ndarray | None
    pv_kw: float
    battery: tuple[float, float] | None
    sockets: Sequence[Socket]


def write_site(
    folder: Path, buildings: Sequence[Building], clock: pd.DatetimeIndex, price: np.ndarray | None, carbon: np.ndarray | None
) -> None:
    """Write schema and series into an existing folder.

    Args:
        folder: empty.
        buildings: at least one with a battery or a socket.
        clock: what clocks show at the begin of each hour, shape (hours,), with summer time where there is one.
        price: of a kWh, shape (hours,), of a day at least; None where it is unknown. Its forecasts are the prices that come.
        carbon: kg for a kWh, likewise.
    """
    files: dict[str, dict[str, Any]] = {
        "weather": {f"{name}{ahead}": value for name, value in _WEATHER.items() for ahead in AHEAD}
    }
    if carbon is not None:
        files["carbon_intensity"] = {"carbon_intensity": carbon}
    if price is not None:
        # Behind the end prices are those of the last day.
        longer = np.append(price, price[-24:])
        files["pricing"] = {f"electricity_pricing{name}": longer[h : h + len(price)] for name, h in AHEAD.items()}
    series = list(files)
    calendar = _calendar(clock)
    files |= {building.name: calendar | _energy(building) for building in buildings}
    for name, columns in files.items():
        pd.DataFrame(columns, index=range(len(clock))).to_csv(folder / f"{name}.csv", index=False)
    for building in buildings:
        for socket in building.sockets:
            text = entries.charger_csv(socket.name, socket.sessions, len(clock))
            (folder / f"{socket.name}.csv").write_text(text, encoding="utf-8")
    text = json.dumps(_schema(buildings, series, clock), indent=1)
    (folder / "schema.json").write_text(text, encoding="utf-8")


def _calendar(clock: pd.DatetimeIndex) -> dict[str, Any]:
    """Columns of hours; CityLearn counts those of a day from 1 to 24."""
    is_summer = np.array([bool(instant.dst()) for instant in clock], int)
    days = {"month": clock.month, "hour": clock.hour + 1, "day_type": clock.day_of_week + 1}
    return {**days, "daylight_savings_status": is_summer}


def _energy(building: Building) -> dict[str, Any]:
    solar = 0.0 if building.pv_kwh is None else (building.pv_kwh / building.pv_kw * 1000.0).round(4)
    return {
        "indoor_dry_bulb_temperature": 20.0,
        "non_shiftable_load": building.load_kwh.round(6),
        **dict.fromkeys(("dhw_demand", "cooling_demand", "heating_demand"), 0.0),
        "solar_generation": solar,
    }


def _schema(buildings: Sequence[Building], series: Sequence[str], clock: pd.DatetimeIndex) -> dict[str, Any]:
    sockets = [socket for building in buildings for socket in building.sockets]
    has_battery = any(building.battery for building in buildings)
    shared = ["month", "day_type", "hour", *(["carbon_intensity"] if "carbon_intensity" in series else [])]
    if "pricing" in series:
        shared += [f"electricity_pricing{name}" for name in AHEAD]
    own = ["non_shiftable_load", "net_electricity_consumption"]
    own += ["solar_generation"] if any(building.pv_kw for building in buildings) else []
    own += ["electrical_storage_soc"] if has_battery else []
    own += _VEHICLES if sockets else ()
    actions = [name for name, is_there in zip(_ACTIONS, (has_battery, sockets), strict=True) if is_there]
    made = entries.schema(
        {**dict.fromkeys(shared, True), **dict.fromkeys(own, False)},
        actions,
        {building.name: _building(building, series, {*own, *actions}) for building in buildings},
        {socket.name: entries.vehicle(socket.vehicle_kwh, socket.power_kw) for socket in sockets},
        len(clock) - 1,
    )
    return {**made, "start_date": f"{clock[0]:%Y-%m-%d}"}


def _building(building: Building, series: Sequence[str], of_site: set[str]) -> dict[str, Any]:
    """Entry of a building, of a site whose buildings have some observations and actions of their own."""
    devices: dict[str, Any] = {}
    has = dict.fromkeys(("electrical_storage_soc", "electrical_storage"), building.battery is not None)
    has |= {"solar_generation": building.pv_kw > 0.0}
    has |= dict.fromkeys((*_VEHICLES, "electric_vehicle_storage"), len(building.sockets) > 0)
    lacking = [name for name, device in has.items() if name in of_site and not device]
    if building.battery:
        capacity, power = building.battery
        devices["electrical_storage"] = entries.battery({"capacity": capacity, "nominal_power": power, **LITHIUM})
    if building.pv_kw:
        devices["pv"] = entries.pv(building.pv_kw)
    if building.sockets:
        devices["chargers"] = {
            socket.name: entries.charger(f"{socket.name}.csv", socket.power_kw) for socket in building.sockets
        }
    without = ([name for name in lacking if name not in _ACTIONS], [name for name in lacking if name in _ACTIONS])
    return entries.building(building.name, series, without, **devices)
