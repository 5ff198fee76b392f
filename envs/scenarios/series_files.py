"""The series of a given scenario, checked before anything runs.

CityLearn accepts most of these faults silently, or fails in the middle of a run with an error that names no file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from common.texts import counted
from envs.scenarios.csv_file import read_table
from envs.scenarios.schema_shape import ABSOLUTE_MODES, AHEAD, CONVERT, FIRST, LAST, USES, steps_per_hour
from envs.scenarios.shapes import Faults, Limit, included, is_left_out, is_number, shortened

if TYPE_CHECKING:
    import pandas as pd

MOST_LOAD, MOST_PV = 1e6, 2000  # kWh in an hour, W of each kW of nominal power
MOST_CARBON, MOST_PRICE = 5, 1e6  # kg of CO2 for a kWh, and money; with either sign
_ENERGY = "1 GWh in an hour is more than any site draws; the unit is kWh"
_TEMPERATURE = Limit(-90, 57, "CityLearn cuts temperatures to -90 to 57 degrees Celsius, the extremes on record")
_HUMIDITY = Limit(0, 120, "relative humidity in per cent; sensors and forecasts overshoot a little")
_SUN = Limit(-50, 2000, "the sun gives 1,361 W/m2 above the air, and clouds' edges a little more; sensors drift at night")
_PRICE = Limit(-MOST_PRICE, MOST_PRICE, "price of a kWh in any currency, also below zero")
_DEMAND = Limit(0, 1e6, f"demand is 0 or more; {_ENERGY}")
_SET_POINT = Limit(-90, 100, "degrees Celsius")
# Columns that CityLearn needs, by file. It passes them to a constructor by name, so one that it does not know is an error too.
# Limits are wide: what lies beyond is a wrong unit, a wrong column or a slip. `docs/scenarios.md` shows them.
NEEDED: dict[str, dict[str, Limit]] = {
    "energy_simulation": {
        "month": Limit(1, 12, "months are 1 to 12", whole=True),
        "hour": Limit(1, 24, "hours are 1, from midnight to one o'clock, to 24", whole=True),
        "day_type": Limit(1, 8, "1 is Monday, 7 Sunday and 8 a holiday", whole=True),
        "indoor_dry_bulb_temperature": _TEMPERATURE,
        "non_shiftable_load": Limit(0, MOST_LOAD, f"consumption is 0 or more, and PV belongs into solar_generation; {_ENERGY}"),
        **dict.fromkeys(("dhw_demand", "cooling_demand", "heating_demand"), _DEMAND),
        "solar_generation": Limit(
            0, MOST_PV, "generation is 0 or more, also at night; twice the PV's nominal power is 2,000 W for each kW"
        ),
    },
    "weather": {
        f"{name}{ahead}": limit
        for name, limit in (
            ("outdoor_dry_bulb_temperature", _TEMPERATURE),
            ("outdoor_relative_humidity", _HUMIDITY),
            ("diffuse_solar_irradiance", _SUN),
            ("direct_solar_irradiance", _SUN),
        )
        for ahead in AHEAD
    },
    "carbon_intensity": {
        "carbon_intensity": Limit(-5, MOST_CARBON, "kg CO2 for each kWh; the worst plants emit 2, and 400 would be grams")
    },
    "pricing": {f"electricity_pricing{ahead}": _PRICE for ahead in AHEAD},
}
# Data sets leave these columns empty where they were not measured, or out.
_MEASURED = {
    "average_unmet_cooling_setpoint_difference": Limit(-150, 150, "a difference of temperatures in degrees"),
    "indoor_relative_humidity": _HUMIDITY,
    "occupant_count": Limit(0, 1e6, "people in a building"),
    "indoor_dry_bulb_temperature_cooling_set_point": _SET_POINT,
    "indoor_dry_bulb_temperature_heating_set_point": _SET_POINT,
}
OPTIONAL = {
    **_MEASURED,
    "comfort_band": Limit(0, 100, "a difference of temperatures in degrees"),
    "minutes": Limit(0, 59, "minutes are 0 to 59", whole=True),
    "seconds": Limit(0, 59, "seconds are 0 to 59", whole=True),
    "daylight_savings_status": Limit(0, 1, "1 is summer time", whole=True),
    "hvac_mode": Limit(0, 3, "modes are 0 to 3", whole=True),
    "power_outage": Limit(0, 1, "1 is an outage", whole=True),
}
# A PV with generation_mode absolute has its own generation as a series.
_ABSOLUTE_SOLAR = Limit(0, 1e6, f"generation is 0 or more, also at night; {_ENERGY}")
_MAY_BE_EMPTY = {"indoor_dry_bulb_temperature", *_MEASURED}
# What CityLearn's rewards for thermal comfort look at; without it they are no numbers.
_COMFORT = {
    "indoor_dry_bulb_temperature", "indoor_dry_bulb_temperature_cooling_set_point",
    "indoor_dry_bulb_temperature_heating_set_point",
}  # fmt: skip
_SLACK = 1e-3  # of what devices give: CityLearn allows 1e-4 kWh and keeps float32
_HIGHEST_COP = 20.0
_KELVIN = 273.15
# The highest values that CityLearn draws where a schema gives none.
_DRAWN = {"HeatPump": 0.3, "ElectricHeater": 0.99}
_ODD_HOURS = (2, 2000)  # hours that may be repeated or left out, as by summer time: so many, and one more for so many rows

STATE, ID = "electric_vehicle_charger_state", "electric_vehicle_id"
DEPARTURE, REQUIRED_SOC = "electric_vehicle_departure_time", "electric_vehicle_required_soc_departure"
ARRIVAL, ARRIVAL_SOC = "electric_vehicle_estimated_arrival_time", "electric_vehicle_estimated_soc_arrival"
CURRENT_SOC = "electric_vehicle_current_soc"
SERIES: dict[str, Limit] = {
    **OPTIONAL,
    **{column: limit for columns in NEEDED.values() for column, limit in columns.items()},
    DEPARTURE: Limit(-1, 87_600, "steps until the departure, at most ten years of hours"),
    ARRIVAL: Limit(-1, 87_600, "steps until the arrival, at most ten years of hours"),
}
CHARGER = (STATE, ID, DEPARTURE, REQUIRED_SOC, ARRIVAL, ARRIVAL_SOC)
PLUGGED, COMING, AWAY = 1, 2, 3  # CityLearn's charger states of a vehicle: plugged in, announced, neither
_NO_SOC = (-0.1, -1.0)  # how CityLearn and its data sets write that there is none
_NO_VEHICLE, _UNKNOWN = -1, -2  # in place of a vehicle's index


def check_series(path: Path, schema: Mapping[str, Any], root: Path, faults: Faults) -> None:
    """Check, in the rows that are run, the series of a scenario's included buildings, whose schema has the right form."""
    files = _Files(path, schema, root, faults)
    vehicles = [name for name, entry in (schema.get("electric_vehicles_def") or {}).items() if not is_left_out(entry)]
    index = {name: i for i, name in enumerate(vehicles)}
    plugged_in: list[tuple[_Series, np.ndarray]] = []
    first: _Series | None = None
    for building in included(schema).values():
        read: dict[str, _Series] = {}
        for kind in NEEDED:
            name = building.get(kind)
            series = files.read(name, kind) if name else None
            if series:
                read[kind] = series
                _check_numbers(series, kind, _observed(schema, building), _limits(building))
            if series and kind == "energy_simulation":
                _check_calendar(series, first or series, steps_per_hour(schema))
                first = first or series
        if "energy_simulation" in read and "weather" in read:
            _check_demands(read["energy_simulation"], read["weather"], building)
        for charger in (building.get("chargers") or {}).values():
            series = files.read(charger["charger_simulation"], "charger_simulation")
            if series:
                plugged_in.append((series, _check_charger(series, index)))
    if len({len(vehicle) for _, vehicle in plugged_in}) == 1:
        _check_places(plugged_in, len(index))


def is_file(path: Path) -> bool:
    """Whether a file is there; a name that no file can have is that of none."""
    try:
        return path.is_file()
    except (OSError, ValueError, RuntimeError):
        return False


@dataclass(frozen=True)
class _Series:
    file: Path  # its path
    frame: pd.DataFrame  # the rows that are run
    first: int  # row of the file that the frame begins with
    faults: Faults  # takes what is wrong
    _told: dict[str, np.ndarray] = field(default_factory=dict)

    def numbers(self, column: str) -> np.ndarray:
        """Values of a column, NaN where there is none, shape (rows,); text, infinity and true are faults."""
        import pandas as pd

        raw = self.frame[column]
        if raw.dtype.kind in "bMmc" or isinstance(raw.dtype, pd.CategoricalDtype):
            self.refuse(np.ones(len(raw), dtype=bool), column, "write numbers")
            return np.full(len(raw), np.nan)
        values: np.ndarray = pd.to_numeric(
            raw.astype(object) if raw.dtype.kind not in "iuf" else raw, errors="coerce"
        ).to_numpy(dtype=np.float64, na_value=np.nan)
        # CityLearn keeps float32, in which larger values are infinite.
        wrong = ~(np.abs(values) <= np.finfo(np.float32).max) & raw.notna().to_numpy()
        comma = wrong.any() and "," in str(raw.iloc[int(wrong.argmax())])
        remedy = "write a finite number" + (", with a point for decimals and nothing between thousands" if comma else "")
        self.refuse(wrong, column, remedy)
        return np.where(wrong, np.nan, values)

    def refuse(self, wrong: np.ndarray, column: str, remedy: str) -> None:
        """Add a fault for a mask of rows, shape (rows,); none where all of them have been named for the column."""
        told = self._told.get(column, np.zeros(len(wrong), dtype=bool))
        fresh = wrong & ~told
        self._told[column] = told | wrong
        if fresh.any():
            row, more = int(fresh.argmax()), int(fresh.sum()) - 1
            rest = f" (and {counted(more, 'more line')})" if more else ""
            self.fail(row, f"{column} is {self.text(row, column)}; {remedy}{rest}")

    def text(self, row: int, column: str) -> str:
        """A value as a message shows it."""
        import pandas as pd

        value = self.frame[column].iloc[row]
        if not isinstance(value, list | dict | np.ndarray) and pd.isna(value):
            return "missing"
        if isinstance(value, np.number) or is_number(value):
            return f"{value:.10g}"
        return f"'{shortened(str(value))}'"

    def line(self, row: int) -> int:
        """Line of a row in an editor, which counts from 1 and shows the header there."""
        return self.first + row + 2

    def fail(self, row: int, message: str) -> None:
        """Add a fault of a row."""
        self.faults.add_in(self.file, f"line {self.line(row)}: {message}")


class _Files:
    """Reads a scenario's files, each once, and checks that all have the same number of rows."""

    def __init__(self, path: Path, schema: Mapping[str, Any], root: Path, faults: Faults) -> None:
        self._path, self._root, self._faults = path, root, faults
        self._first, self._last = int(schema[FIRST]), int(schema[LAST])
        self._length: tuple[Path, int] | None = None
        self._read: dict[tuple[str, str], _Series | None] = {}

    def read(self, name: str, kind: str) -> _Series | None:
        """Read a file; None for one with wrong columns or too few rows, which are faults."""
        if (name, kind) not in self._read:
            file = self._root / name
            self._read[name, kind] = self._open(file, kind) if is_file(file) else None
        return self._read[name, kind]

    def _open(self, file: Path, kind: str) -> _Series | None:
        is_charger = kind == "charger_simulation"
        required = CHARGER if is_charger else tuple(NEEDED[kind])
        known = {*required, *(OPTIONAL if kind == "energy_simulation" else ())}
        table = read_table(file, known, text=(STATE,) if is_charger else ())
        if isinstance(table, str):
            self._faults.add(table)
            return None
        missing = [column for column in required if column not in table]
        # From a charger's file CityLearn picks the columns that it needs.
        unknown = [] if is_charger else [column for column in table if column not in known]
        if missing:
            names = f"column{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
            others = (
                f"; it has {', '.join(shortened(str(other)) for other in unknown)} instead: rename what is meant, or {CONVERT}"
            )
            self._faults.add(
                f"{file} lacks the {names}; add {'them' if len(missing) > 1 else 'it'}, as CityLearn needs it"
                + (others if unknown else "")
            )
        for other in () if missing else unknown:
            self._faults.add(f"{file} has a column '{shortened(str(other))}', which CityLearn does not take; remove it")
        if missing or not self._is_long_enough(file, len(table), is_charger):
            return None
        table = table.drop(columns=unknown)
        return _Series(file, table.iloc[self._first : self._last + 1], self._first, self._faults)

    def _is_long_enough(self, file: Path, rows: int, may_be_longer: bool) -> bool:
        """Whether a file has all rows that are run; of a charger's file CityLearn reads as many as the site has."""
        is_first = self._length is None
        self._length = self._length or (file, rows)
        other, expected = self._length
        if rows != expected and not (may_be_longer and rows > expected):
            self._faults.add(
                f"{file} has {counted(rows, 'row')} and {other} has {expected:,}; "
                "all files of a scenario need a row for the same hours"
            )
        elif rows <= self._last and is_first:
            self._faults.add(
                f"{file} has {counted(rows, 'row')}, but simulation_end_time_step {self._last} in {self._path} needs "
                f"{self._last + 1:,}; add rows or lower it"
            )
        return rows > self._last


def _limits(building: Mapping[str, Any]) -> dict[str, Limit]:
    mode = ((building.get("pv") or {}).get("attributes") or {}).get("generation_mode")
    return SERIES | ({"solar_generation": _ABSOLUTE_SOLAR} if mode in ABSOLUTE_MODES else {})


def _check_numbers(series: _Series, kind: str, observed: set[str], bounds: Mapping[str, Limit]) -> None:
    for column in series.frame:
        name = str(column)
        values = series.numbers(name)
        if np.isnan(values).all() and series.frame[name].isna().all() and name in _MAY_BE_EMPTY and name not in observed:
            continue
        series.refuse(np.isnan(values), name, "write a number")
        if name == "hour":
            series.refuse(values == 0.0, name, f"hours are 1 to 24: correct it, or {CONVERT}")
        if name in bounds:
            series.refuse(~bounds[name].holds(values), name, f"it has to be {bounds[name].words}: {bounds[name].why}")
    if kind == "energy_simulation":
        both = series.numbers("cooling_demand") * series.numbers("heating_demand") != 0.0
        series.refuse(both, "cooling_demand", "CityLearn allows none in an hour with heating_demand")


def _check_demands(series: _Series, weather: _Series, building: Mapping[str, Any]) -> None:
    """Check that the building's devices can meet its demands, or CityLearn stops in the middle of a run."""
    temperature = weather.numbers("outdoor_dry_bulb_temperature")
    outages = (building.get("power_outage") or {}).get("simulate_power_outage") and "power_outage" in series.frame
    supplied = series.numbers("power_outage") == 0.0 if outages else np.ones(len(series.frame), dtype=bool)
    for use in USES:
        output = most_output(building, use, temperature)
        if output is not None and len(output) == len(supplied):
            wrong = supplied & is_beyond(series.numbers(f"{use}_demand"), output)
            if not wrong.any():  # also where there are no rows, which is told elsewhere
                continue
            most = f"the most is {output[int(wrong.argmax())]:.6g}" if building.get(f"{use}_device") else "there is none"
            series.refuse(
                wrong, f"{use}_demand", f"the building's {use}_device cannot meet it, as {most}; size it for its demand"
            )


def most_output(building: Mapping[str, Any], use: str, temperature: np.ndarray) -> np.ndarray | None:
    """The most that a building's device for one of `USES` gives in each hour [kWh], at outdoor temperatures of shape (rows,).

    None where the schema does not say it: for devices that CityLearn sizes, for classes of the user's, and for buildings with a
    model of their indoor temperature.
    """
    device = building.get(f"{use}_device")
    if building.get("dynamics") or str(building.get("type") or "Building").rpartition(".")[2] != "Building":
        return None
    if not device:
        return np.zeros(len(temperature))
    attributes = device.get("attributes") or {}
    kind = str(device["type"]).rpartition(".")[2]
    if device.get("autosize") or kind not in _DRAWN:
        return None
    power = float(attributes.get("nominal_power") or 0.0)
    efficiency = float(attributes.get("efficiency") or _DRAWN[kind])
    if power == 0.0 or kind == "ElectricHeater":
        return np.full(len(temperature), power * efficiency)
    target = attributes.get(f"target_{'cooling' if use == 'cooling' else 'heating'}_temperature")
    if target is None:
        return None
    # As in CityLearn: a share of Carnot's, and 20 where it is beyond or the heat flows by itself.
    lift = temperature - target if use == "cooling" else target - temperature
    with np.errstate(divide="ignore"):
        cop = efficiency * (target + _KELVIN) / lift
    return power * np.where((cop < 0.0) | (cop > _HIGHEST_COP), _HIGHEST_COP, cop)


def is_beyond(demand: np.ndarray, output: np.ndarray) -> np.ndarray:
    """Where a demand is higher than an output [kWh], shape (rows,)."""
    return np.asarray(demand > output * (1.0 + _SLACK) + _SLACK)


def _rows_an_hour(step: np.ndarray) -> int:
    """How many rows of a series share each hour, from the steps of its hours, shape (rows,); 1 unless nearly all do so."""
    runs = np.diff(np.flatnonzero(step != 0.0))
    most = int(np.median(runs)) if len(runs) else 1
    return most if most > 1 and 60 % most == 0 and (runs == most).mean() > 0.9 else 1


def _check_calendar(series: _Series, first: _Series, per_hour: int) -> None:
    """Check that rows follow one another, so many an hour, as in the scenario's first building."""
    month, hour = series.numbers("month"), series.numbers("hour")
    # A wrong hour has been named, and its neighbours are not at fault.
    hour = np.where(SERIES["hour"].holds(hour), hour, np.nan)
    step = np.diff(hour, prepend=hour[:1] - 1.0) % 24
    step = np.where(np.isnan(step), 1.0, step)
    if (parts := _rows_an_hour(step)) != per_hour:
        series.refuse(
            np.arange(len(hour)) == 1, "hour",
            f"rows are {60 / parts:g} minutes apart, and steps {60 / per_hour:g}: set seconds_per_time_step to "
            f"{3600 / parts:g}, or give a row for each step",
        )  # fmt: skip
        return
    if per_hour > 1:
        within = sum(
            (series.numbers(column) / one_hour for column, one_hour in (("minutes", 60.0), ("seconds", 3600.0))
             if column in series.frame), np.zeros(len(hour))
        )  # fmt: skip
        if not within.any():
            series.fail(0, f"rows are {60 / per_hour:g} minutes apart, and no column minutes says which is which; add it")
            return
        time = (hour + within) * per_hour
        step = np.round(np.diff(time, prepend=time[:1] - 1.0) % (24 * per_hour), 6)
        step = np.where(np.isnan(step), 1.0, step)
    odd = np.isin(step, ((1.0 - per_hour) % (24 * per_hour), 1.0 + per_hour))
    few = odd.sum() <= _ODD_HOURS[0] + len(hour) // _ODD_HOURS[1]
    wrong = (step != 1.0) & ~(odd & few)
    # CityLearn takes the first two rows for the length of a step.
    wrong[:2] |= step[:2] != 1.0
    series.refuse(wrong, "hour", "it does not follow the row before; put the rows into the order of time")
    for column in ("minutes", "seconds") if per_hour == 1 else ():
        if column in series.frame:
            values = series.numbers(column)
            series.refuse(values != values[0], column, "rows are an hour apart, so all have the same")
    starts = [0, *(np.flatnonzero(np.diff(month) != 0.0) + 1), len(month)]
    short = np.zeros(len(month), dtype=bool)
    for start, end in pairwise(starts[1:-1]):
        short[start:end] = end - start < 24 * per_hour
    series.refuse(short, "month", "this month lasts less than a day; put the rows into the order of time")
    if len(month) == len(first.frame):
        for column in ("month", "hour"):
            other = series.numbers(column) != first.numbers(column)
            series.refuse(other, column, f"{first.file} has another in this line; all buildings share their hours")


def _observed(schema: Mapping[str, Any], building: Mapping[str, Any]) -> set[str]:
    """Observations that are active in a building, and those that the schema's reward looks at."""
    active = {name for name, value in schema["observations"].items() if value.get("active")}
    reward = schema["reward_function"]["type"]
    comfort = "ComfortReward" in str(list(reward.values()) if isinstance(reward, dict) else reward)
    return active - set(building.get("inactive_observations") or ()) | (_COMFORT if comfort else set())


def _check_charger(series: _Series, vehicles: Mapping[str, int]) -> np.ndarray:
    """Check a charger's file; the index of the vehicle that is plugged in, or a negative number, shape (rows,)."""
    states = {str(state): state for state in (PLUGGED, COMING, AWAY)}
    state = _decoded(series, STATE, lambda text: states.get(text, 0), 0)
    series.refuse(
        state == 0,
        STATE,
        "write 1 (plugged in), 2 (on its way) or 3 (away) in every row: where one is empty or has a decimal point, CityLearn "
        "reads the whole column as decimals and connects no vehicle",
    )
    before_checks = len(series.faults)
    vehicle = _decoded(series, ID, lambda text: vehicles.get(text, _UNKNOWN), _NO_VEHICLE)
    plugged, coming = state == PLUGGED, state == COMING
    _check_vehicles(series, vehicle, plugged | coming)
    known = len(series.faults) == before_checks  # else a wrong name makes its neighbours look wrong

    before = np.concatenate([[0], state[:-1]])
    vehicle_before = np.concatenate([[_NO_VEHICLE], vehicle[:-1]])
    changed = vehicle != vehicle_before
    other = plugged & np.isin(before, (COMING, AWAY)) & changed & (vehicle_before != _NO_VEHICLE)
    series.refuse(other & known, ID, "the row before, with state 2 or 3, names another vehicle, at which CityLearn stops")
    # The first row is no arrival, as the row before is unknown. An arrival after state 2 has its charge in the row before.
    arrives = plugged & ((before == AWAY) | (before == PLUGGED) & changed)

    for column, needed, why in (
        (DEPARTURE, plugged, "a row with state 1 needs the steps until departure"),
        (ARRIVAL, coming, "a row with state 2 needs the steps until arrival"),
    ):
        values, most = series.numbers(column), SERIES[column].high
        asked = f": write them, or {CONVERT}" if column == DEPARTURE else ""
        series.refuse(needed & ~((values >= 0.0) & (values <= most)), column, f"{why}, from 0 to {most:,.0f}{asked}")
    for column, needed, why in (
        (REQUIRED_SOC, plugged, "a row with state 1 needs the state of charge at departure"),
        (ARRIVAL_SOC, coming, f"a row with state 2 needs the state of charge on arrival: write it, or {CONVERT}"),
        (
            ARRIVAL_SOC,
            arrives & known,
            f"the first row of an unannounced vehicle needs its state of charge, else it is random: write it, or {CONVERT}",
        ),
    ):
        series.refuse(needed & np.isnan(_soc(series, column)), column, why)
    if CURRENT_SOC in series.frame:
        _soc(series, CURRENT_SOC)
    return np.where(plugged, vehicle, _NO_VEHICLE)


def _decoded(series: _Series, column: str, code: Callable[[str], int], missing: int) -> np.ndarray:
    """A column of few different values as numbers, shape (rows,)."""
    import pandas as pd

    codes, values = pd.factorize(series.frame[column])
    # The code of a missing value is -1 and takes the last.
    return np.array([*(code(str(value)) for value in values), missing])[codes]


def _check_vehicles(series: _Series, vehicle: np.ndarray, present: np.ndarray) -> None:
    series.refuse(present & (vehicle == _NO_VEHICLE), ID, "a row with state 1 or 2 needs a vehicle")
    if series.frame[ID].dtype.kind in "iuf":
        remedy = "give vehicles names with a letter: CityLearn takes a column of numbers for numbers, and finds none of them"
        series.refuse(present, ID, remedy)
    known = "write one of the included vehicles of electric_vehicles_def, as CityLearn never connects any other"
    series.refuse(present & (vehicle == _UNKNOWN), ID, known)


def _soc(series: _Series, column: str) -> np.ndarray:
    """States of charge as they are written, NaN where there is none, shape (rows,).

    CityLearn decides value by value whether it is a fraction or a percentage: beside 80, it takes 1 for a full battery.
    """
    values = series.numbers(column)
    values = np.where(np.isin(values, _NO_SOC), np.nan, values)
    beyond = (values < 0.0) | (values > 100.0)
    series.refuse(beyond, column, "write a fraction of 1, a percentage, or nothing")
    values = np.where(beyond, np.nan, values)
    fraction, percent = (values > 0.0) & (values <= 1.0), values > 1.0
    if fraction.any() and percent.any():
        row, other = int(fraction.argmax()), int(percent.argmax())
        series.fail(
            row,
            f"{column} is {series.text(row, column)}, and {series.text(other, column)} in line {series.line(other)}; write "
            f"fractions or percentages, not both, as CityLearn takes each value up to 1 for a fraction; or {CONVERT}",
        )
    return values


def _check_places(plugged_in: list[tuple[_Series, np.ndarray]], vehicles: int) -> None:
    """Refuse a vehicle that is at two chargers in one row: CityLearn would charge it at both."""
    place = np.full((vehicles, len(plugged_in[0][1])), -1)
    for charger, (series, vehicle) in enumerate(plugged_in):
        rows = np.flatnonzero(vehicle >= 0)
        taken = place[vehicle[rows], rows]
        if (taken >= 0).any():
            clash = int((taken >= 0).argmax())
            row, other = int(rows[clash]), plugged_in[taken[clash]][0].file
            series.fail(row, f"vehicle {series.text(row, ID)} is plugged in here and in {other}; leave it at one charger")
        place[vehicle[rows], rows] = charger
