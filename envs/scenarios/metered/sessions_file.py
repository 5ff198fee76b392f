"""Reads charging sessions, as operators of chargers export them."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from common.errors import ScenarioError
from common.texts import hint
from envs.scenarios.entries import Session
from envs.scenarios.metered.meter_file import HOUR, Clock, at_line, instants, numbers, read_table

NEEDED = ("arrival", "departure")
KNOWN = (*NEEDED, "charger", "building", "energy_kwh", "arrival_soc", "required_soc")


def read_sessions(
    path: Path, clock: Clock, hours: pd.DatetimeIndex, buildings: list[str], vehicle_kwh: float
) -> tuple[dict[tuple[str, str], list[Session]], int]:
    """Sessions by building and charger, and how many lie beyond the hours or cover no whole one.

    A vehicle can be charged in the hours that lie wholly within its stay.

    Args:
        path: CSV file with the columns `arrival` and `departure` (times), `charger` and `building` (names; where there are
            several), and `energy_kwh` that the vehicle got, or `arrival_soc` and `required_soc` from 0 to 1.
        clock: how its times are written.
        hours: of the site, in UTC.
        buildings: of the site.
        vehicle_kwh: what a vehicle's battery holds. One that got an energy is taken to leave full.

    Raises:
        ScenarioError: in a line that says what is wrong and what to do.
    """
    table = read_table(path)
    unknown = [str(name) for name in table if name not in KNOWN]
    if unknown:
        words = f"column{'s' * (len(unknown) > 1)} {', '.join(map(repr, unknown))}"
        raise ScenarioError(f"{path}: unknown {words}; {hint(unknown[0], KNOWN)}, or remove what is none of these")
    missing = [name for name in (*NEEDED, *(["building"] if len(buildings) > 1 else [])) if name not in table]
    if missing:
        raise ScenarioError(f"{path} has no column {' and no column '.join(missing)}")
    arrival, required = _states_of_charge(path, table, vehicle_kwh)
    begin, end = ((instants(path, table[name], clock) - hours[0]) / HOUR for name in NEEDED)
    if not (begin < end).all():
        raise ScenarioError(f"{at_line(path, pd.Series(begin >= end, table.index))}: the departure is not after the arrival")
    first, last = np.ceil(begin).astype(int), np.floor(end).astype(int)
    # Sessions that reach beyond the first or the last row are left out: their arrival or departure is unknown.
    is_within = (first > 0) & (last < len(hours)) & (first < last)
    named = table.get("building", pd.Series(buildings[0], table.index)).fillna("").str.replace(" ", "_")
    if not (known := named.isin(buildings)).all():
        name = named[~known].iloc[0]
        raise ScenarioError(f"{at_line(path, ~known)}: building {name!r} is not in --load; {hint(name, buildings)}")
    sockets = table.get("charger", pd.Series("charger", table.index)).fillna("charger").str.replace(" ", "_").to_numpy()
    owners = named.to_numpy()
    sessions: dict[tuple[str, str], list[Session]] = {}
    for row in np.argsort(first, kind="stable"):
        if is_within[row]:
            session = Session(int(first[row]), int(last[row]), float(arrival[row]), float(required[row]))
            sessions.setdefault((owners[row], sockets[row]), []).append(session)
    for (building, socket), of_socket in sessions.items():
        for before, after in pairwise(of_socket):
            if after.start < before.end:
                when = clock.local(hours)[after.start]
                raise ScenarioError(
                    f"{path}: two vehicles are at {socket} of {building} at {when:%Y-%m-%d %H:%M}; each needs a charger"
                )
    return sessions, int((~is_within).sum())


def _states_of_charge(path: Path, table: pd.DataFrame, vehicle_kwh: float) -> tuple[np.ndarray, np.ndarray]:
    """States of charge at the arrival and required at the departure, from 0 to 1."""
    if "energy_kwh" in table:
        energy = numbers(path, table["energy_kwh"])
        wrong = ~((energy >= 0.0) & (energy <= vehicle_kwh))
        if wrong.any():
            given = energy[wrong].iloc[0]
            raise ScenarioError(
                f"{at_line(path, wrong)}: energy_kwh is {'missing' if np.isnan(given) else f'{given:g}'}; a vehicle of "
                f"--vehicle-kwh {vehicle_kwh:g} takes 0 to that"
            )
        return np.round(1.0 - energy.to_numpy() / vehicle_kwh, 4), np.ones(len(energy))
    if not {"arrival_soc", "required_soc"} <= set(table):
        raise ScenarioError(f"{path} needs a column energy_kwh, or arrival_soc and required_soc")
    arrival, required = (numbers(path, table[name]) for name in ("arrival_soc", "required_soc"))
    wrong = ~((arrival >= 0.0) & (arrival <= 1.0) & (required >= 0.0) & (required <= 1.0))
    if wrong.any():
        raise ScenarioError(f"{at_line(path, wrong)}: states of charge are from 0 to 1, as 0.8 for 80 %")
    return arrival.to_numpy(), required.to_numpy()
