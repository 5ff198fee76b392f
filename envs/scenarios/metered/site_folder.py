"""Writes the folder of a site, of series by the hour."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from envs.scenarios import entries
from envs.scenarios.entries import ACTIONS, AT_CHARGERS, Building
from envs.scenarios.schema_shape import AHEAD

# CityLearn needs these columns. Nobody sees them, and nothing here depends on them.
_WEATHER = {
    "outdoor_dry_bulb_temperature": 20.0,
    "outdoor_relative_humidity": 50.0,
    "diffuse_solar_irradiance": 0.0,
    "direct_solar_irradiance": 0.0,
}
SERIES = ("weather", "carbon_intensity", "pricing")  # files that are no building's


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
    series: dict[str, dict[str, Any]] = {
        "weather": {f"{name}{ahead}": value for name, value in _WEATHER.items() for ahead in AHEAD}
    }
    if carbon is not None:
        series["carbon_intensity"] = {"carbon_intensity": carbon}
    if price is not None:
        # Behind the end prices are those of the last day.
        longer = np.append(price, price[-24:])
        series["pricing"] = {f"electricity_pricing{name}": longer[h : h + len(price)] for name, h in AHEAD.items()}
    schema = {**_schema(buildings, series, len(clock) - 1), "start_date": f"{clock[0]:%Y-%m-%d}"}
    # CityLearn counts the hours of a day from 1 to 24.
    hours = {"month": clock.month, "hour": clock.hour + 1, "day_type": clock.day_of_week + 1}
    is_summer = np.array([bool(instant.dst()) for instant in clock], int)
    entries.write_site(folder, schema, buildings, series, {**hours, "daylight_savings_status": is_summer}, 20.0)


def _schema(buildings: Sequence[Building], series: Mapping[str, Any], last_row: int) -> dict[str, Any]:
    sockets = [socket for building in buildings for socket in building.sockets]
    has_battery = any(building.battery for building in buildings)
    shared = ["month", "day_type", "hour", *(["carbon_intensity"] if "carbon_intensity" in series else [])]
    shared += series.get("pricing", ())
    own = ["non_shiftable_load", "net_electricity_consumption"]
    own += ["solar_generation"] if any(building.pv_kw for building in buildings) else []
    own += ["electrical_storage_soc"] if has_battery else []
    own += AT_CHARGERS if sockets else ()
    actions = [name for name, is_there in zip(ACTIONS, (has_battery, sockets), strict=True) if is_there]
    return entries.schema(
        {**dict.fromkeys(shared, True), **dict.fromkeys(own, False)},
        actions,
        {building.name: building.entry(series, _lacking(building, {*own, *actions})) for building in buildings},
        entries.vehicles(sockets),
        last_row,
    )


def _lacking(building: Building, of_site: set[str]) -> tuple[list[str], list[str]]:
    """Observations, and actions, of those that some buildings of a site have of their own that this one has not."""
    has = dict.fromkeys(("electrical_storage_soc", "electrical_storage"), building.battery is not None)
    has |= {"solar_generation": building.pv_kw > 0.0}
    has |= dict.fromkeys((*AT_CHARGERS, "electric_vehicle_storage"), len(building.sockets) > 0)
    lacking = [name for name, device in has.items() if name in of_site and not device]
    return [name for name in lacking if name not in ACTIONS], [name for name in lacking if name in ACTIONS]
