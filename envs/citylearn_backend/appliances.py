"""Reads deferrable appliances from CityLearn's objects into the batch simulator's tables."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from envs.batch_backend import records
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.citylearn_backend.thermal import owned_actions

_NONE = -1.0  # CityLearn's number for what a cycle would say where there is none
# Observations that are `_NONE` without a cycle; others are zero.
_LACKING = {
    "earliest_start_time_step", "latest_start_time_step", "deadline_time_step", "hours_until_latest_start",
    "hours_until_deadline", "slack_steps", "slack_ratio", "urgency_ratio", "cycle_peak_step_offset_ratio",
}  # fmt: skip


def read_appliances(simulator: CityLearnSimulator) -> dict[str, np.ndarray]:
    """`appliance` and `cycle` of `envs.batch_backend.records.Site`."""
    action = {name: index for index, name in enumerate(owned_actions(simulator.env.buildings))}
    devices = list(_appliances(simulator))
    appliance = np.zeros(len(devices), dtype=records.APPLIANCE)
    steps: list[np.ndarray] = []
    for entry, (n, device) in zip(appliance, devices, strict=True):
        first = sum(map(len, steps))
        steps += [_cycle(cycle, simulator.step_hours) for cycle in device.deferrable_appliance_simulation.flexibility_schedule]
        entry["building"], entry["action"] = n, action.get((n, f"deferrable_appliance_{device.name}"), -1)
        entry["threshold"], entry["first"], entry["end"] = device.trigger_threshold, first, sum(map(len, steps))
        entry["offset"] = simulator.env.episode_tracker.simulation_start_time_step
        entry["shown"] = [_NONE if name in _LACKING else 0.0 for name in records.FEATURES]
    return {"appliance": appliance, "cycle": np.concatenate([np.zeros(0, dtype=records.CYCLE), *steps])}


def appliance_places(simulator: CityLearnSimulator, building: Any) -> dict[str, tuple[int, int, int]]:
    """`kind`, `building` and `use` of `records.OBSERVED` by the name of an observation, of the appliances of a building."""
    return {
        f"deferrable_appliance_{device.name}_{feature}": (records.APPLIANCE_STATE, k, use)
        for k, (n, device) in enumerate(_appliances(simulator))
        if simulator.env.buildings[n] is building
        for use, feature in enumerate(records.FEATURES)
    }


def _appliances(simulator: CityLearnSimulator) -> list[tuple[int, Any]]:
    return [(n, device) for n, b in enumerate(simulator.env.buildings) for device in b.deferrable_appliances]


def _cycle(cycle: Mapping[str, Any], step_hours: float) -> np.ndarray:
    """`records.CYCLE` of each step of a cycle, with what `DeferrableAppliance.observations` shows in it."""
    profile, total, steps = cycle["load_profile"], float(cycle["total_energy_kwh"]), int(cycle["duration_steps"])
    wide = np.asarray(profile, dtype=np.float64)
    mean, peak = total / max(steps * step_hours, 1e-6), float(np.nanmax(wide)) / step_hours
    same = ("earliest_start_time_step", "latest_start_time_step", "deadline_time_step", "priority", "must_run")
    whole = {
        **{name: cycle[name] for name in same},
        "cycle_duration_steps": steps,
        "cycle_energy_kwh": total,
        "cycle_average_power_kw": mean,
        "cycle_peak_power_kw": peak,
        "cycle_load_factor_ratio": np.clip(mean / peak if peak > 0.0 else 0.0, 0.0, 1.0),
        "cycle_peak_step_offset_ratio": np.argmax(wide) / max(steps - 1.0, 1.0) if steps > 1 else 0.0,
    }
    record = np.zeros(steps, dtype=records.CYCLE)
    record["earliest"], record["latest"] = whole["earliest_start_time_step"], whole["latest_start_time_step"]
    record["deadline"], record["steps"], record["energy"] = whole["deadline_time_step"], steps, profile
    for step, entry in enumerate(record):
        states = {
            records.PENDING: {"pending": 1.0, **_remaining(total, steps, step_hours)},
            records.RUNNING: {
                "running": 1.0, **_remaining(float(np.sum(profile[step:])), steps - step, step_hours),
                "current_step_energy_kwh": profile[step], "current_step_power_kw": wide[step] / step_hours,
            },
            records.MISSED: {"deadline_missed": 1.0},
        }  # fmt: skip
        for state, values in states.items():
            shown = {**whole, **values}
            entry["shown"][state] = [float(shown.get(name, 0.0)) for name in records.FEATURES]
    return record


def _remaining(energy: float, steps: int, step_hours: float) -> dict[str, float]:
    return {
        "remaining_energy_kwh": energy,
        "remaining_duration_steps": steps,
        "remaining_average_power_kw": energy / max(steps * step_hours, 1e-6),
    }
