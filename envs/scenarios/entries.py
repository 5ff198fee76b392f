"""What the folders of sites that are made here have in common: entries of a schema, and the series of a charger."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from envs.scenarios.series_files import CHARGER

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


def building(name: str, series: Sequence[str], lacking: Sequence[Sequence[str]] = ((), ()), **devices: Any) -> dict[str, Any]:
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
