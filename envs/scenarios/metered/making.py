"""Makes a site of files of meters, as its options say."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd

from common.errors import ScenarioError, UsageError
from common.paths import name_fault, user_path
from common.texts import hint, number, python_command
from envs.scenarios.doubts import doubts
from envs.scenarios.metered import SiteOptions
from envs.scenarios.metered.meter_file import CARBON, LOAD, PRICE, PV, Clock, Quantity, read_hours
from envs.scenarios.metered.neighbourhood import write_meters
from envs.scenarios.metered.sessions_file import read_sessions
from envs.scenarios.metered.site_folder import Building, Socket, write_site
from envs.scenarios.scenario import scenario

SCHEMA = "schema.json"
METERS, EXAMPLE_DAYS = "meters", 364  # folder of an example's files within the site's, and how much they cover
_OF_UNIT = re.compile(r"\s*[(\[][^)\]]*[)\]]$|_(kwh|wh|mwh|kw|w|mw)$", re.IGNORECASE)


def make_site(options: SiteOptions) -> list[str]:
    """Make a site's folder, and check it as every command does.

    Returns:
        Lines that say what it has, and what is doubtful.

    Raises:
        UserError: in a line that says what is wrong; then there is no folder.
    """
    with _new(options.folder) as folder:
        if not (options.load or options.example):
            raise UsageError("--load FILE is missing; --example makes a site without any file")
        if not options.example:
            return _fill_folder(folder, options)
        made = _example(folder, options)
        return [*_fill_folder(folder, made), "its like is made by: " + _command(made)]


def _command(options: SiteOptions) -> str:
    """The command with the options that are not as by default."""
    texts: list[object] = []
    for entry in fields(SiteOptions):
        value = getattr(options, entry.name)
        if entry.name != "folder" and value != entry.default:
            texts += [f"--{entry.name.replace('_', '-')}", *(value if isinstance(value, tuple) else [value])]
    return python_command("tuning.site", "FOLDER", *texts)


def _example(folder: Path, options: SiteOptions) -> SiteOptions:
    """Write the files of an example, and say what is made of them."""
    meters = folder / METERS
    meters.mkdir()
    write_meters(meters, options.seed, EXAMPLE_DAYS)
    load, pv, price, sessions = (str(meters / f"{name}.csv") for name in ("load", "pv", "price", "sessions"))
    return SiteOptions(
        options.folder, load=load, pv=pv, pv_kw=("5",), battery_kwh=("10",), battery_kw=("5",), price=price, carbon="0.35",
        sessions=sessions, vehicle_kwh=50.0, charger_kw=7.4,
    )  # fmt: skip


@contextmanager
def _new(given: Path) -> Iterator[Path]:
    """A folder that is new, and is removed again by an error."""
    folder = user_path(given)
    if folder.exists():
        raise UsageError(f"{folder} is there already; name a folder that is new")
    folder.mkdir(parents=True)
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder)
        raise


def _fill_folder(folder: Path, options: SiteOptions) -> list[str]:
    clock = Clock(options.zone, options.label)
    lines = []

    def read(option: str, quantity: Quantity, unit: str) -> pd.DataFrame:
        is_counter = options.readings and bool(quantity.amounts)
        hours = read_hours(user_path(option), quantity, unit, clock, options.fill, is_counter)
        if hours.filled:
            lines.append(
                f"{option}: {hours.filled} missing hours were filled by the line between their ends (--fill {options.fill})"
            )
        return hours.values

    load = _named(read(options.load, LOAD, options.load_unit))
    names = [str(name) for name in load]
    tables = {"load": load}
    if options.pv:
        tables["pv"] = _named(read(options.pv, PV, options.pv_unit))
    for name, given, quantity, unit in (
        ("price", options.price, PRICE, options.price_unit), ("carbon", options.carbon, CARBON, options.carbon_unit),
    ):  # fmt: skip
        if given and (constant := _constant(given)) is not None:
            tables[name] = pd.DataFrame({name: constant}, index=load.index)
        elif given:
            tables[name] = read(given, quantity, unit)
            if len(tables[name].columns) > 1:
                raise ScenarioError(
                    f"{given} has {len(tables[name].columns)} columns of numbers; --{name} takes a file with one"
                )
    hours = _common(tables, clock)
    tables = {name: table.loc[hours] for name, table in tables.items()}
    buildings = _buildings(options, tables, names)
    if options.sessions:
        buildings, left_out = _with_sockets(options, buildings, clock, hours)
        lines += [
            f"{options.sessions}: {left_out} sessions are left out, as they lie beyond the hours or cover no whole one"
        ] * (left_out > 0)
    if not any(building.battery or building.sockets for building in buildings):
        raise UsageError("nothing can be controlled: give a battery by --battery-kwh and --battery-kw, or --sessions")
    write_site(folder, buildings, clock.local(hours), *(_only(tables, name) for name in ("price", "carbon")))
    schema = folder / SCHEMA
    scenario(str(schema))
    first, last = clock.local(hours)[[0, -1]]
    parts = [f"{len(buildings)} building{'s' * (len(buildings) > 1)}", f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"]
    parts += [f"{sum(table.to_numpy().sum() for name, table in tables.items() if name == kind):,.0f} kWh of {kind}"
              for kind in ("load", "pv") if kind in tables]  # fmt: skip
    sessions = sum(len(socket.sessions) for building in buildings for socket in building.sockets)
    parts += [f"{sessions:,} charging sessions"] if sessions else []
    absent = [f"no {name} is known, so weights of it can do nothing" for name in ("price", "carbon") if name not in tables]
    return [", ".join(parts), *lines, *absent, *doubts(schema)]


def _constant(given: str) -> float | None:
    try:
        return number(given)
    except ValueError:
        return None


def _only(tables: dict[str, pd.DataFrame], name: str) -> np.ndarray | None:
    return tables[name].iloc[:, 0].to_numpy() if name in tables else None


def _named(table: pd.DataFrame) -> pd.DataFrame:
    """Columns named as buildings: without their units, and as names of options."""
    names = [_OF_UNIT.sub("", str(name)).strip().replace(" ", "_") for name in table]
    for name in names:
        if fault := name_fault(name):
            raise ScenarioError(f"{name!r} names a column and so a building; {fault}")
        if names.count(name) > 1 or name in ("weather", "pricing", "carbon_intensity", "schema"):
            raise ScenarioError(f"a column is named {name!r}; each building needs a name of its own")
    return table.set_axis(names, axis=1)


def _common(tables: dict[str, pd.DataFrame], clock: Clock) -> pd.DatetimeIndex:
    """The hours that all tables have, from a midnight on; whole days."""
    hours = pd.DatetimeIndex(tables["load"].index)
    for name, table in tables.items():
        hours = pd.DatetimeIndex(hours.intersection(pd.DatetimeIndex(table.index)))
        if hours.empty:
            raise ScenarioError(f"--{name} has no hour that the files before it have; do they cover the same days?")
    local = clock.local(hours)
    start = int(np.argmax(local.hour == 0))
    return hours[start : start + (len(hours) - start) // 24 * 24]


def _buildings(options: SiteOptions, tables: dict[str, pd.DataFrame], names: list[str]) -> list[Building]:
    power = _each("--pv-kw", options.pv_kw, names)
    capacity, battery_kw = _each("--battery-kwh", options.battery_kwh, names), _each("--battery-kw", options.battery_kw, names)
    if capacity.keys() != battery_kw.keys():
        raise UsageError("--battery-kwh and --battery-kw belong together: a battery has both")
    pv = tables.get("pv", pd.DataFrame())
    if unknown := [str(name) for name in pv if name not in names]:
        raise ScenarioError(f"--pv: {unknown[0]!r} is no building of --load; {hint(unknown[0], names)}")
    if lacking := [str(name) for name in pv if name not in power]:
        raise UsageError(f"--pv-kw: the nominal power of the PV of {lacking[0]} is missing; write --pv-kw 5, or {lacking[0]}=5")
    if not options.pv and power:
        raise UsageError("--pv-kw needs the PV's generation: --pv FILE")
    return [
        Building(
            name,
            tables["load"][name].to_numpy(),
            pv[name].to_numpy() if name in pv else None,
            power[name] if name in pv else 0.0,
            (capacity[name], battery_kw[name]) if name in capacity else None,
            (),
        )
        for name in names
    ]


def _each(option: str, given: Sequence[str], names: list[str]) -> dict[str, float]:
    """What is given for all buildings, as `5`, or for one, as `Home_1=5`."""
    values: dict[str, float] = {}
    for text in given:
        name, _, amount = text.rpartition("=")
        if name and name not in names:
            raise UsageError(f"{option} {text}: no building is called {name}; {hint(name, names)}")
        value = _constant(amount)
        if value is None or not 0.0 < value < 1e7:
            raise UsageError(f"{option} {text}: write a number above 0, or NAME=NUMBER")
        values.update(dict.fromkeys([name] if name else names, value))
    return values


def _with_sockets(
    options: SiteOptions, buildings: list[Building], clock: Clock, hours: pd.DatetimeIndex
) -> tuple[list[Building], int]:
    """Buildings with the chargers of the sessions, and how many sessions are left out."""
    for option, value in (("--vehicle-kwh", options.vehicle_kwh), ("--charger-kw", options.charger_kw)):
        if not value > 0.0:
            raise UsageError(f"--sessions needs {option}")
    names = [building.name for building in buildings]
    sessions, left_out = read_sessions(user_path(options.sessions), clock, hours, names, options.vehicle_kwh)
    if not sessions:
        raise ScenarioError(f"{options.sessions} has no session within the hours of the other files")
    sockets = {name: list[Socket]() for name in names}
    for (name, charger), of_charger in sorted(sessions.items()):
        if fault := name_fault(charger):
            raise ScenarioError(f"{options.sessions}: {charger!r} names a charger; {fault}")
        sockets[name].append(Socket(f"{name}_{charger}", options.charger_kw, options.vehicle_kwh, of_charger))
    return [replace(building, sockets=sockets[building.name]) for building in buildings], left_out
