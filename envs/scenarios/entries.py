"""What the folders of sites that are made here have in common: their buildings, entries of a schema, and series."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from envs.scenarios.series_files import CHARGER

ACTIONS = ("electrical_storage", "electric_vehicle_storage")
AT_CHARGERS = (
    "electric_vehicle_charger_connected_state", "connected_electric_vehicle_at_charger_departure_time",
    "connected_electric_vehicle_at_charger_required_soc_departure", "connected_electric_vehicle_at_charger_soc",
)  # fmt: skip
CHARGER_EFFICIENCY = 0.95
# A lithium battery, but for its size. CityLearn draws at random what is left out.
LITHIUM: dict[str, Any] = {
    "initial_soc": 0.5,
    "depth_of_discharge": 0.8,
    "efficiency": 0.95,
    "capacity_loss_coefficient": 1e-5,
    "loss_coefficient": 1e-4,
    "power_efficiency_curve": [[0.0, 0.83], [0.3, 0.92], [0.6, 0.95], [0.8, 0.94], [1.0, 0.91]],
    "capacity_power_curve": [[0.0, 1.0], [0.8, 1.0], [1.0, 0.95]],
}


@dataclass(frozen=True)
class Session:
    """One vehicle at one socket: plugged in during rows `start` to `end - 1`."""

    start: int
    end: int
    arrival_soc: float
    target_soc: float


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

    @property
    def columns(self) -> dict[str, Any]:
        """Its own series beside those that all buildings share. PV is in W for each kW."""
        return {
            "non_shiftable_load": self.load_kwh.round(6),
            **dict.fromkeys(("dhw_demand", "cooling_demand", "heating_demand"), 0.0),
            "solar_generation": 0.0 if self.pv_kwh is None else (self.pv_kwh / self.pv_kw * 1000.0).round(4),
        }

    def entry(self, series: Iterable[str], lacking: Sequence[Sequence[str]] = ((), ())) -> dict[str, Any]:
        """Its entry in a schema; arguments as of `building`."""
        devices: dict[str, Any] = {}
        if self.battery:
            capacity, power = self.battery
            devices["electrical_storage"] = battery({"capacity": capacity, "nominal_power": power, **LITHIUM})
        if self.pv_kw:
            devices["pv"] = pv(self.pv_kw)
        if self.sockets:
            devices["chargers"] = {socket.name: charger(f"{socket.name}.csv", socket.power_kw) for socket in self.sockets}
        return building(self.name, series, lacking, **devices)


def vehicles(sockets: Iterable[Socket]) -> dict[str, Any]:
    """Entries of the vehicles that come to chargers, which have their names."""
    return {socket.name: vehicle(socket.vehicle_kwh, socket.power_kw) for socket in sockets}


def write_site(
    folder: Path,
    schema: Mapping[str, Any],
    buildings: Sequence[Building],
    series: Mapping[str, Mapping[str, Any]],
    common: Mapping[str, Any],
) -> None:
    """Write schema and series into an existing folder.

    Args:
        folder: empty.
        schema: its last row says how many there are.
        buildings: all that the schema has.
        series: columns of the files that are no building's, by their names; each an array of shape (rows,), or one value.
        common: columns that all buildings have, likewise: the calendar, and an indoor temperature, on which nothing depends.
    """
    rows = schema["simulation_end_time_step"] + 1
    files = {**series, **{building.name: {**common, **building.columns} for building in buildings}}
    for name, columns in files.items():
        pd.DataFrame(columns, index=range(rows)).to_csv(folder / f"{name}.csv", index=False)
    for socket in (socket for building in buildings for socket in building.sockets):
        text = charger_csv(socket.name, socket.sessions, rows)
        (folder / f"{socket.name}.csv").write_text(text, encoding="utf-8")
    (folder / "schema.json").write_text(json.dumps(schema, indent=1), encoding="utf-8")


def charger_csv(name: str, sessions: Iterable[Session], rows: int) -> str:
    """The series of a charger, which has one vehicle of its name; written by hand because 128 data frames cost seconds.

    A vehicle's state of charge on arrival is in the arrival row, where CityLearn looks for it if the vehicle was not announced.
    """
    lines = ["3,,,,,,"] * rows
    for i, session in enumerate(sessions):
        for row in range(session.start, session.end):
            arrival = session.arrival_soc if row == session.start else ""
            lines[row] = f"1,{name},{session.end - row},{session.target_soc},,{arrival},{name}_{i}"
    return "\n".join([",".join((*CHARGER, "electric_vehicle_session_id")), *lines, ""])


def charger(file: str, power_kw: float) -> dict[str, Any]:
    """Entry of a charger that does not discharge."""
    return {
        "type": "citylearn.electric_vehicle_charger.Charger",
        "charger_simulation": file,
        "noise_std": 0,
        "attributes": {
            "efficiency": CHARGER_EFFICIENCY,
            "max_charging_power": power_kw,
            "min_charging_power": 0.0,
            "max_discharging_power": 0.0,
            "min_discharging_power": 0.0,
        },
    }


def vehicle(battery_kwh: float, power_kw: float) -> dict[str, Any]:
    """Entry of a vehicle; all losses of charging are the charger's. Attributes left out would be drawn at random."""
    attributes = {
        "capacity": battery_kwh,
        "nominal_power": power_kw,
        "initial_soc": 0.5,
        "depth_of_discharge": 1.0,
        "efficiency": 1.0,
        "capacity_loss_coefficient": 0.0,
        "loss_coefficient": 0.0,
        "power_efficiency_curve": [[0.0, 1.0], [1.0, 1.0]],
        "capacity_power_curve": [[0.0, 1.0], [1.0, 1.0]],
    }
    return {"include": True, "battery": battery(attributes)}


def battery(attributes: dict[str, Any]) -> dict[str, Any]:
    """Entry of a battery."""
    return {"type": "citylearn.energy_model.Battery", "autosize": False, "attributes": attributes}


def pv(nominal_kw: float) -> dict[str, Any]:
    """Entry of a PV plant, whose series is in W for each kW."""
    return {"type": "citylearn.energy_model.PV", "autosize": False, "attributes": {"nominal_power": nominal_kw}}


def building(name: str, series: Iterable[str], lacking: Sequence[Sequence[str]] = ((), ()), **devices: Any) -> dict[str, Any]:
    """Entry of a building.

    Args:
        name: its own series are in `NAME.csv`.
        series: what others it has, in files of that name.
        lacking: observations, and actions, of the schema that it has not.
        devices: its other entries.
    """
    observations, actions = lacking
    return {
        "include": True,
        "energy_simulation": f"{name}.csv",
        **{kind: f"{kind}.csv" for kind in series},
        "inactive_observations": list(observations),
        "inactive_actions": list(actions),
        **devices,
    }


def schema(
    observations: Mapping[str, bool],
    actions: Iterable[str],
    buildings: dict[str, Any],
    vehicles: dict[str, Any],
    last_row: int,
) -> dict[str, Any]:
    """A schema of hourly rows, from the first to the last one; of each observation, whether all buildings share it."""
    return {
        "random_seed": 0,
        "root_directory": None,
        "central_agent": True,
        "simulation_start_time_step": 0,
        "simulation_end_time_step": last_row,
        "episode_time_steps": None,
        "rolling_episode_split": False,
        "random_episode_split": False,
        "seconds_per_time_step": 3600,
        "observations": {
            name: {"active": True, "shared_in_central_agent": is_shared} for name, is_shared in observations.items()
        },
        "actions": {name: {"active": True} for name in actions},
        "reward_function": {"type": "citylearn.reward_function.RewardFunction", "attributes": None},
        "electric_vehicles_def": vehicles,
        "buildings": buildings,
    }
