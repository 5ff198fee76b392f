"""Washing machines of CityLearn 2.4 as deferrable appliances of CityLearn 3: the same energy, startable in the same hours."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from envs.scenarios.conversion.cells import Cells, Found
from envs.scenarios.schema_shape import WASHING

FILE_KEY = "washing_machine_energy_simulation"
START, END, PROFILE = "wm_start_time_step", "wm_end_time_step", "load_profile"
APPLIANCE = "deferrable_appliance"
# What stands for each observation of 2.4; `pending` says whether the machine has still to run.
SUCCESSORS = {
    "washing_machine_start_time_step": ("deferrable_appliance_earliest_start_time_step", "deferrable_appliance_pending"),
    "washing_machine_end_time_step": ("deferrable_appliance_latest_start_time_step",),
    "washing_machine_load_profile": ("deferrable_appliance_cycle_energy_kwh",),
    WASHING: (APPLIANCE,),  # the action
}


@dataclass(frozen=True)
class Cycle:
    """One load of washing."""

    earliest: int  # first and last row in which it may start
    latest: int
    profile: tuple[float, ...]  # energy of each hour [kWh]


def read_cycles(cells: Cells) -> Iterator[Cycle]:
    """Cycles of a washing machine's file. CityLearn 2.4 starts one where the row's own window includes the row."""
    start, end, profile = cells.numbers(START), cells.numbers(END), cells.text(PROFILE)
    rows = np.arange(len(start))
    may = (start >= 0) & (start <= rows) & (rows <= end)
    same = np.append(False, (start[1:] == start[:-1]) & (end[1:] == end[:-1]) & (profile[1:] == profile[:-1]))
    window = np.cumsum(~same)
    for number in np.unique(window[may]):
        inside = np.flatnonzero(may & (window == number))
        energies = _energies(profile[inside[0]])
        if energies:
            yield Cycle(int(inside[0]), int(inside[-1]), energies)


def _energies(text: str) -> tuple[float, ...]:
    """Energies of a text such as `[3.1, 0.6]`; empty for -1 and for what CityLearn 2.4 cannot read."""
    try:
        values = ast.literal_eval(text)
        energies = tuple(float(value) for value in (values if isinstance(values, list | tuple) else [values]))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return ()
    return tuple(value for value in energies if np.isfinite(value) and value >= 0.0)


def tables(cells: Cells) -> tuple[pd.DataFrame, pd.DataFrame, list[Found]]:
    """Profiles and schedule of the deferrable appliance that a machine becomes, and what differs from 2.4."""
    cycles, findings = list(read_cycles(cells)), []
    numbers = {profile: f"profile_{i}" for i, profile in enumerate(dict.fromkeys(cycle.profile for cycle in cycles))}
    schedule: list[dict[str, Any]] = []
    for i, cycle in enumerate(cycles):
        hours, latest = len(cycle.profile), cycle.latest
        following = cycles[i + 1].earliest if i + 1 < len(cycles) else None
        if following is not None and latest + hours > following:
            # CityLearn 3 wants one cycle to end before the next may start.
            latest = max(cycle.earliest, following - hours)
            what = f"a cycle could still run in line {following + 2}, where the next may start"
            done = f"it starts by line {latest + 2}, as an appliance has one cycle at a time"
            findings.append(Found(cells.file.name, END, (cycle.latest + 2,), what, done))
        schedule.append(
            {
                "cycle_id": f"cycle_{i}", "profile_id": numbers[cycle.profile],
                "earliest_start_time_step": cycle.earliest, "latest_start_time_step": latest,
                "deadline_time_step": latest + hours - 1, "priority": 1.0, "must_run": True,
            }
        )  # fmt: skip
    profiles = [
        {
            "profile_id": number, "duration_steps": len(profile),
            "total_energy_kwh": sum(profile), "load_profile": str(list(profile)),
        }
        for profile, number in numbers.items()
    ]  # fmt: skip
    return pd.DataFrame(profiles), pd.DataFrame(schedule), findings


def replaced(names: Any, successors: bool) -> Any:
    """Names of observations or actions, a list or an object, with those of washing machines replaced or left out."""

    def instead(name: Any) -> tuple[Any, ...]:
        if not (isinstance(name, str) and name.startswith(WASHING)):
            return (name,)
        return SUCCESSORS.get(name, ()) if successors else ()

    if isinstance(names, dict):
        return {new: entry for name, entry in names.items() for new in instead(name)}
    if isinstance(names, list):
        return [new for name in names for new in instead(name)]
    return names
