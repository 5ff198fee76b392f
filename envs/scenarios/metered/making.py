"""Makes a site of files of meters, as its options say, and writes its folder."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from common.errors import ScenarioError, UsageError
from common.paths import name_fault, new_folder, user_path
from common.texts import counted, hint, number_or_nan, option, option_words, python_command
from envs.scenarios import entries
from envs.scenarios.doubts import doubts
from envs.scenarios.entries import ACTIONS, AT_CHARGERS, Building, Socket
from envs.scenarios.metered import SiteOptions
from envs.scenarios.metered.meter_file import CARBON, LOAD, PRICE, PV, Clock, read_hours
from envs.scenarios.metered.neighbourhood import write_meters
from envs.scenarios.metered.sessions_file import read_sessions
from envs.scenarios.metered.typical_sun import typical_sun
from envs.scenarios.scenario import scenario
from envs.scenarios.schema_shape import AHEAD, MOST_CHARGER
from envs.scenarios.series_files import MOST_CARBON, MOST_LOAD, MOST_PRICE, MOST_PV
from envs.scenarios.tariff import is_currency, write_tariff

SCHEMA = "schema.json"
MOST = 1e7  # kW or kWh of a device: 10 GW is more than any site has
LEAST_HOURS = 300 * 24  # from which on a year's seasons are in the data
LEAST_PART = 0.02  # of the mean load, that batteries have at least if they matter
METERS, EXAMPLE_DAYS = "meters", 364  # folder of an example's files within the site's, and how much they cover
# CityLearn needs these columns. Nobody sees them, and nothing here depends on them.
_WEATHER = {
    "outdoor_dry_bulb_temperature": 20.0,
    "outdoor_relative_humidity": 50.0,
    "diffuse_solar_irradiance": 0.0,
    "direct_solar_irradiance": 0.0,
}
SERIES = ("weather", "carbon_intensity", "pricing")  # files that are no building's
_DECIMAL_COMMA = re.compile(r"\d+,\d+")
# Options that act on another one.
_ACT_ON = {
    "seed": "example", "load_unit": "load", "pv_unit": "pv", "pv_tilt": "weather", "pv_azimuth": "weather",
    "price_unit": "price", "carbon_unit": "carbon",
    "vehicle_kwh": "sessions", "charger_kw": "sessions",
}  # fmt: skip


def make_site(options: SiteOptions) -> list[str]:
    """Make a site's folder, and check it as every command does.

    Returns:
        Lines that say what it has, and what is doubtful.

    Raises:
        UserError: in a line that says what is wrong; then there is no folder.
    """
    _check(options)
    with new_folder(options.folder) as folder:
        if not options.example:
            return _fill_folder(folder, options)
        made = _example(folder, options)
        words = [word for name, value in _given(made).items() for word in option_words(name, value)]
        return [*_fill_folder(folder, made), "its like is made by: " + python_command("tuning.site", "FOLDER", *words)]


def _given(options: SiteOptions) -> dict[str, object]:
    """The options that are not as by default, without the folder."""
    values = {entry.name: (getattr(options, entry.name), entry.default) for entry in fields(options) if entry.name != "folder"}
    return {name: value for name, (value, default) in values.items() if value != default}


def _check(options: SiteOptions) -> None:
    """Raise a UsageError for an option that has nothing to act on, or is below its range."""
    given = _given(options)
    if not options.load and not options.example:
        raise UsageError("--load FILE is missing; --example makes a site without any file")
    if options.example and (others := sorted(given.keys() - {"example", "seed"})):
        raise UsageError(f"--example has files of its own: leave {option(others[0])} out, or --example")
    for name, needed in _ACT_ON.items():
        if name in given and needed not in given:
            raise UsageError(f"{option(name)} acts on {option(needed)}, which is missing")
    if options.pv and options.weather:
        raise UsageError("--pv has what --weather would compute: leave one of them out")
    if bool(options.pv or options.weather) != bool(options.pv_kw):
        raise UsageError("--pv-kw, and --pv or --weather, belong together: how large the PV is, and what it generates")
    for name in ("seed", "fill"):
        if getattr(options, name) < 0:
            raise UsageError(f"{option(name)} {getattr(options, name)}: it is at least 0")


def _example(folder: Path, options: SiteOptions) -> SiteOptions:
    meters = folder / METERS
    meters.mkdir()
    write_meters(meters, options.seed, EXAMPLE_DAYS)
    load, pv, price, sessions = (str(meters / f"{name}.csv") for name in ("load", "pv", "price", "sessions"))
    return SiteOptions(
        options.folder, load=load, pv=pv, pv_kw=("5",), battery_kwh=("10",), battery_kw=("5",), price=price, carbon="0.35",
        sessions=sessions, vehicle_kwh=50.0, charger_kw=7.4,
    )  # fmt: skip


def _fill_folder(folder: Path, options: SiteOptions) -> list[str]:
    clock = Clock(options.zone, options.label)
    tables, currency, lines = _tables(options, clock)
    buildings = _buildings(options, tables)
    hours = pd.DatetimeIndex(tables["load"].index)
    if options.sessions:
        buildings, left_out = _with_sockets(options, buildings, clock, hours)
        if left_out:
            lines.append(
                f"{options.sessions}: {counted(left_out, 'session')} left out, beyond the hours or without a whole one"
            )
        beyond = sum(
            (session.target_soc - session.arrival_soc) * socket.vehicle_kwh
            > 1.01 * socket.power_kw * (session.end - session.start)
            for building in buildings
            for socket in building.sockets
            for session in socket.sessions
        )
        if beyond:
            lines.append(f"doubtful: {counted(beyond, 'session')} with more energy than --charger-kw gives in the whole hours")
    if not any(building.battery or building.sockets for building in buildings):
        raise UsageError("nothing can be controlled: give a battery by --battery-kwh and --battery-kw, or --sessions")
    _refuse_doubled(buildings)
    _refuse_other_units(buildings, tables)
    _write_site(folder, buildings, clock.local(hours), tables)
    if currency:
        write_tariff(folder, currency)
    schema = folder / SCHEMA
    try:
        made = scenario(str(schema))
    except ScenarioError as error:
        raise ScenarioError("what these files give cannot be; is a unit another one? " + str(error.args[0])) from None
    made.windows("test")  # which a site of a few days has not
    for name, money in (("price", f" {currency}".rstrip()), ("carbon", " kg of CO2")):
        if name in tables:
            lines.append(f"{name}: {_range(tables[name])}{money} for a kWh")
        else:
            lines.append(f"no {name} is known, so weights of it can do nothing")
    return [_amounts(buildings, clock.local(hours)), *lines, *doubts(schema)]


def _amounts(buildings: Sequence[Building], clock: pd.DatetimeIndex) -> str:
    parts = [counted(len(buildings), "building"), f"{clock[0]:%Y-%m-%d} to {clock[-1]:%Y-%m-%d}"]
    parts.append(f"{sum(building.load_kwh.sum() for building in buildings):,.0f} kWh of load")
    generated = sum(building.pv_kwh.sum() for building in buildings if building.pv_kwh is not None)
    parts += [f"{generated:,.0f} kWh of PV"] if generated else []
    drawn = sum(building.load_kwh.sum() for building in buildings) / len(clock)
    if 0.0 < (battery := sum(building.battery[1] for building in buildings if building.battery)) < LEAST_PART * drawn:
        parts.append(f"{drawn:,.0f} kW on average beside batteries of {battery:g} kW, which can do next to nothing (units?)")
    sessions = sum(len(socket.sessions) for building in buildings for socket in building.sockets)
    return ", ".join([*parts, *([counted(sessions, "charging session")] if sessions else [])])


def _tables(options: SiteOptions, clock: Clock) -> tuple[dict[str, pd.DataFrame], str, list[str]]:
    """What the files measure in the hours that all of them have, by the name of their option.

    With the money of the prices, empty where nothing says it; and what to say of the files.
    """
    tables: dict[str, pd.DataFrame] = {}
    units: dict[str, str] = {}  # as they are written
    lines = []
    for quantity in (LOAD, PV, PRICE, CARBON):
        if quantity is PV and options.weather:
            tables["pv"], line = _computed_pv(options, tables["load"])
            lines.append(line)
            continue
        name, given = quantity.name, getattr(options, quantity.name)
        constant = math.nan if quantity.amounts else number_or_nan(given)
        units[name] = unit = getattr(options, f"{name}_unit")
        if math.isfinite(constant):
            _, size = quantity.of_option(unit) or ("", 1.0)
            tables[name] = pd.DataFrame({name: constant * size}, index=tables["load"].index)
        elif given:
            if not user_path(given).is_file():
                comma = f"; a number has a point: {given.replace(',', '.')}" if _DECIMAL_COMMA.fullmatch(given) else ""
                raise UsageError(f"--{name} {given}: there is no such file{comma}")
            is_counter = options.readings and bool(quantity.amounts)
            hours = read_hours(user_path(given), quantity, unit, clock, options.fill, is_counter)
            tables[name], units[name] = hours.values, hours.unit
            if hours.filled:
                lines.append(f"{given}: gaps are filled by a line between their ends: {hours.filled} (--fill {options.fill})")
            if not quantity.amounts and len(hours.values.columns) > 1:
                raise ScenarioError(
                    f"{given} has {len(hours.values.columns)} columns of numbers; --{name} takes a file with one"
                )
    shared = _shared(tables)
    common = _whole_days(shared, clock)
    lines += _left_out(tables, len(shared) - len(common), common, clock)
    currency = units["price"].partition("/")[0].strip()
    return {name: table.loc[common] for name, table in tables.items()}, currency if is_currency(currency) else "", lines


def _left_out(tables: dict[str, pd.DataFrame], ends: int, common: pd.DatetimeIndex, clock: Clock) -> Iterator[str]:
    """How much of the load is left out, as another file does not cover it, and how little of a year there is."""
    load = tables["load"].index
    for name, table in tables.items():
        local = clock.local(pd.DatetimeIndex(table.index))
        if missing := len(load.difference(table.index)):
            days = f"{local[0]:%Y-%m-%d} to {local[-1]:%Y-%m-%d}"
            yield f"--{name} has {days}: {missing:,} of {len(load):,} hours of the load are left out"
    if ends:
        yield f"{counted(ends, 'hour')} at the ends left out, as they are no whole day from midnight to midnight"
    if len(common) < LEAST_HOURS:
        count = clock.local(common).normalize().nunique()
        yield f"{count} days: amounts of a year are scaled from them, whatever other seasons are like"


def _computed_pv(options: SiteOptions, load: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """What PV generates by --weather in the hours of the load, as a meter of it would have it, and a line about it."""
    azimuth = number_or_nan(options.pv_azimuth) if options.pv_azimuth else None
    if not 0.0 <= options.pv_tilt <= 90.0:
        raise UsageError(f"--pv-tilt {options.pv_tilt:g}: it is from 0 to 90 degrees")
    if azimuth is not None and not 0.0 <= azimuth <= 360.0:
        raise UsageError(f"--pv-azimuth {options.pv_azimuth}: it is from 0 to 360 degrees, where 180 is south")
    sun = typical_sun(user_path(options.weather), options.pv_tilt, azimuth)
    per_kw = sun.at(pd.DatetimeIndex(load.index), bool(options.zone))
    sizes = _each("--pv-kw", options.pv_kw, [str(name) for name in load])
    line = f"PV: {sun.per_kw.sum():,.0f} kWh a year for each kW, by the typical weather of {sun.place}"
    return pd.DataFrame({name: size * per_kw for name, size in sizes.items()}, index=load.index), line


def _shared(tables: dict[str, pd.DataFrame]) -> pd.DatetimeIndex:
    """The hours that all tables have."""
    hours = tables["load"].index
    for name, table in tables.items():
        hours = hours.intersection(table.index)
        if hours.empty:
            raise ScenarioError(f"--{name} has no hour that the files before it have; do they cover the same days?")
    return pd.DatetimeIndex(hours)


def _whole_days(hours: pd.DatetimeIndex, clock: Clock) -> pd.DatetimeIndex:
    """Those from a midnight on that make whole days."""
    hours = hours[np.cumsum(clock.local(hours).hour == 0) > 0]
    # The days on which clocks change have 23 hours and 25.
    hours = hours[: 1 + max(np.flatnonzero(clock.local(hours).hour == 23), default=-1)]
    if hours.empty:
        raise ScenarioError(
            "--load: no day has all of its hours, from midnight to midnight, in each file; a site needs whole days"
        )
    return hours


def _refuse_doubled(buildings: Sequence[Building]) -> None:
    """Raise a ScenarioError where two files of the site would have one name, also where case does not matter."""
    names = [name for building in buildings for name in (building.name, *(socket.name for socket in building.sockets))]
    for name in names:
        if fault := name_fault(name):
            raise ScenarioError(f"{name!r} names a building or a charger, so rename it: {fault}")
    folded = [name.casefold() for name in [*SERIES, *names]]
    if doubled := next((name for name in names if folded.count(name.casefold()) > 1), ""):
        raise ScenarioError(f"{doubled} names two files of the site; buildings and chargers need names of their own")


def _refuse_other_units(buildings: Sequence[Building], tables: dict[str, pd.DataFrame]) -> None:
    """Raise a ScenarioError for amounts that can be in no other unit than the one that was said."""
    for building in buildings:
        if (most := building.load_kwh.max()) > MOST_LOAD:
            raise ScenarioError(f"--load: {building.name} uses up to {most:,.4g} kWh in an hour; is the unit another one?")
        if building.pv_kwh is not None and (most := building.pv_kwh.max()) > MOST_PV / 1000.0 * building.pv_kw:
            raise ScenarioError(
                f"--pv: {building.name} generates up to {most:,.4g} kWh in an hour, and its PV has {building.pv_kw:g} kW; is "
                "the unit another one, or --pv-kw?"
            )
    worst = "kg of CO2 for a kWh, and the worst plants emit 2; is the unit another one, such as g?"
    money = f"for a kWh, and up to {MOST_PRICE:,.0f} is taken"
    for name, most, what in (("carbon", MOST_CARBON, worst), ("price", MOST_PRICE, money)):
        values = tables[name].to_numpy() if name in tables else np.zeros(1)
        if abs(far := values.flat[np.abs(values).argmax()]) > most:
            raise ScenarioError(f"--{name}: it is {far:,.4g} {what}")


def _range(table: pd.DataFrame) -> str:
    least, most = table.to_numpy().min(), table.to_numpy().max()
    return f"{least:.4g}" if least == most else f"{least:.4g} to {most:.4g}"


def _buildings(options: SiteOptions, tables: dict[str, pd.DataFrame]) -> list[Building]:
    load, pv = tables["load"], tables.get("pv", pd.DataFrame())
    names = [str(name) for name in load]
    power = _each("--pv-kw", options.pv_kw, [str(name) for name in pv])
    capacity, battery_kw = _each("--battery-kwh", options.battery_kwh, names), _each("--battery-kw", options.battery_kw, names)
    if capacity.keys() != battery_kw.keys():
        raise UsageError("--battery-kwh and --battery-kw belong together: a battery has both")
    if unknown := [str(name) for name in pv if name not in names]:
        raise ScenarioError(f"--pv: {unknown[0]!r} is no building of --load; {hint(unknown[0], names)}")
    if lacking := [str(name) for name in pv if name not in power]:
        raise UsageError(f"--pv-kw: the nominal power of the PV of {lacking[0]} is missing; write --pv-kw 5, or {lacking[0]}=5")
    return [
        Building(
            name,
            load[name].to_numpy(),
            pv[name].to_numpy() if name in pv else None,
            power[name] if name in pv else 0.0,
            (capacity[name], battery_kw[name]) if name in capacity else None,
            (),
        )
        for name in names
    ]


def _each(words: str, given: Sequence[str], names: list[str]) -> dict[str, float]:
    """What is given for all buildings, as `5`, or for one, as `Home_1=5`."""
    values: dict[str, float] = {}
    if len({text.rpartition("=")[0] for text in given}) < len(given):
        raise UsageError(f"{words} {' '.join(given)}: one number is for all buildings; for each its own write one NAME=NUMBER")
    for text in given:
        name, _, amount = text.replace(" ", "_").rpartition("=")
        if name and name not in names:
            raise UsageError(f"{words} {text}: no building there is called {name}; {hint(name, names)}")
        value = number_or_nan(amount)
        if not 0.0 < value < MOST:
            raise UsageError(f"{words} {text}: write a number above 0 and below {MOST:,.0f}, or NAME=NUMBER")
        values.update(dict.fromkeys([name] if name else names, value))
    return values


def _with_sockets(
    options: SiteOptions, buildings: list[Building], clock: Clock, hours: pd.DatetimeIndex
) -> tuple[list[Building], int]:
    """Buildings with the chargers of the sessions, and how many sessions are left out."""
    for name, most in (("vehicle_kwh", MOST), ("charger_kw", MOST_CHARGER)):
        if not 0.0 < getattr(options, name) <= most:
            raise UsageError(f"--sessions needs {option(name)}, a number above 0 and up to {most:,.0f}")
    names = [building.name for building in buildings]
    sessions, left_out = read_sessions(user_path(options.sessions), clock, hours, names, options.vehicle_kwh)
    if not sessions:
        raise ScenarioError(f"{options.sessions} has no session with a whole hour within those of the other files")
    sockets = {name: list[Socket]() for name in names}
    for (name, charger), of_charger in sorted(sessions.items()):
        sockets[name].append(Socket(f"{name}_{charger}", options.charger_kw, options.vehicle_kwh, of_charger))
    return [replace(building, sockets=sockets[building.name]) for building in buildings], left_out


def _write_site(
    folder: Path, buildings: Sequence[Building], clock: pd.DatetimeIndex, tables: Mapping[str, pd.DataFrame]
) -> None:
    """Write schema and series into an existing folder, that is empty.

    `clock` is what clocks show at the begin of each hour, shape (hours,), with summer time where there is one. The tables
    give price and carbon intensity, where they are known. Forecasts of prices are the prices that follow.
    """
    series: dict[str, dict[str, Any]] = {
        "weather": {f"{name}{ahead}": value for name, value in _WEATHER.items() for ahead in AHEAD}
    }
    if "carbon" in tables:
        series["carbon_intensity"] = {"carbon_intensity": tables["carbon"].iloc[:, 0].to_numpy()}
    if "price" in tables:
        price = tables["price"].iloc[:, 0].to_numpy()
        # Forecasts beyond the end of the data are the prices of its last day.
        longer = np.append(price, price[-24:])
        series["pricing"] = {f"electricity_pricing{name}": longer[h : h + len(price)] for name, h in AHEAD.items()}
    schema = {**_schema(buildings, series, len(clock) - 1), "start_date": f"{clock[0]:%Y-%m-%d}"}
    is_summer = np.array([bool(instant.dst()) for instant in clock], int)
    # CityLearn counts the hours of a day from 1 to 24.
    common = {
        "month": clock.month, "hour": clock.hour + 1, "day_type": clock.day_of_week + 1,
        "daylight_savings_status": is_summer, "indoor_dry_bulb_temperature": 20.0,
    }  # fmt: skip
    entries.write_site(folder, schema, buildings, series, common)


def _schema(buildings: Sequence[Building], series: Mapping[str, Any], last_row: int) -> dict[str, Any]:
    sockets = [socket for building in buildings for socket in building.sockets]
    has_battery = any(building.battery for building in buildings)
    shared = ["month", "day_type", "hour", *(["carbon_intensity"] if "carbon_intensity" in series else [])]
    shared += series.get("pricing", ())
    unshared = ["non_shiftable_load", "net_electricity_consumption"]
    unshared += ["solar_generation"] if any(building.pv_kw for building in buildings) else []
    unshared += ["electrical_storage_soc"] if has_battery else []
    unshared += AT_CHARGERS if sockets else ()
    actions = [name for name, is_there in zip(ACTIONS, (has_battery, sockets), strict=True) if is_there]
    return entries.schema(
        {**dict.fromkeys(shared, True), **dict.fromkeys(unshared, False)},
        actions,
        {building.name: building.entry(series, _lacking(building, {*unshared, *actions})) for building in buildings},
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
