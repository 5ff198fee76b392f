"""The series and attributes of a given scenario, checked before anything runs.

CityLearn accepts most of these faults silently, or fails in the middle of a run with an error that names neither file nor
line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from envs.errors import ScenarioError

if TYPE_CHECKING:
    import pandas as pd

_AHEAD = ("", "_predicted_1", "_predicted_2", "_predicted_3")
_WEATHER = (
    "outdoor_dry_bulb_temperature", "outdoor_relative_humidity", "diffuse_solar_irradiance", "direct_solar_irradiance",
)  # fmt: skip
# CityLearn passes the columns to a constructor by name, so a column that it does not know is an error too.
_REQUIRED: dict[str, tuple[str, ...]] = {
    "energy_simulation": (
        "month", "hour", "day_type", "indoor_dry_bulb_temperature", "non_shiftable_load", "dhw_demand",
        "cooling_demand", "heating_demand", "solar_generation",
    ),
    "weather": tuple(f"{name}{ahead}" for name in _WEATHER for ahead in _AHEAD),
    "carbon_intensity": ("carbon_intensity",),
    "pricing": tuple(f"electricity_pricing{ahead}" for ahead in _AHEAD),
}  # fmt: skip
# Data sets leave these columns empty where they were not measured.
_MAY_BE_EMPTY = {
    "indoor_dry_bulb_temperature", "average_unmet_cooling_setpoint_difference", "indoor_relative_humidity",
    "occupant_count", "indoor_dry_bulb_temperature_cooling_set_point", "indoor_dry_bulb_temperature_heating_set_point",
}  # fmt: skip
_OPTIONAL = {
    "energy_simulation": _MAY_BE_EMPTY
    | {"daylight_savings_status", "hvac_mode", "power_outage", "comfort_band", "minutes", "seconds"}
}
_LIMITS = {
    "month": (1, 12, "months are 1 to 12"),
    "hour": (1, 24, "hours are 1, from midnight to one o'clock, to 24"),
    "non_shiftable_load": (0, math.inf, "consumption is 0 or more, and PV belongs into solar_generation"),
    "solar_generation": (0, math.inf, "generation is 0 or more, also at night"),
    "hvac_mode": (0, 3, "modes are 0 to 3"),
}

_STATE, _ID = "electric_vehicle_charger_state", "electric_vehicle_id"
_DEPARTURE, _REQUIRED_SOC = "electric_vehicle_departure_time", "electric_vehicle_required_soc_departure"
_ARRIVAL, _ARRIVAL_SOC = "electric_vehicle_estimated_arrival_time", "electric_vehicle_estimated_soc_arrival"
_CURRENT_SOC = "electric_vehicle_current_soc"
_CHARGER = (_STATE, _ID, _DEPARTURE, _REQUIRED_SOC, _ARRIVAL, _ARRIVAL_SOC)
_PLUGGED, _COMING, _AWAY = 1, 2, 3
_NO_SOC = (-0.1, -1.0)  # how CityLearn and its data sets write that there is none
_NO_VEHICLE, _UNKNOWN = -1, -2  # in place of a vehicle's index

_Range = tuple[str, Callable[[float], bool]]
_ANY_SHARE: _Range = ("from 0 to 1", lambda value: 0.0 <= value <= 1.0)
_SHARE: _Range = ("above 0 and at most 1", lambda value: 0.0 < value <= 1.0)
_POSITIVE: _Range = ("above 0", lambda value: 0.0 < value < math.inf)
_NOT_NEGATIVE: _Range = ("0 or more", lambda value: 0.0 <= value < math.inf)
_SIZES: dict[str, _Range] = {"capacity": _POSITIVE, "nominal_power": _POSITIVE}
_BATTERY_RANGES = {**_SIZES, "initial_soc": _ANY_SHARE, "depth_of_discharge": _SHARE, "efficiency": _SHARE}
_CHARGER_RANGES = {
    "max_charging_power": _POSITIVE,
    **dict.fromkeys(("min_charging_power", "max_discharging_power", "min_discharging_power"), _NOT_NEGATIVE),
    "efficiency": _SHARE,
}


def check_series(path: Path, schema: dict[str, Any], root: Path) -> None:
    """Check the attributes and, in the rows that are run, the series of a scenario's included buildings.

    Args:
        path: of the `schema.json`; for messages.
        schema: its content.
        root: folder of the series, all of which exist.

    Raises:
        ScenarioError: if CityLearn would stop at a value, or would misread it.
    """
    _check_attributes(path, schema)
    files = _Files(path, schema, root)
    vehicles = {name: index for index, (name, _) in enumerate(_included(schema.get("electric_vehicles_def")))}
    plugged_in: list[tuple[_Series, np.ndarray]] = []
    checked = set()
    for name, building in _included(schema["buildings"]):
        for kind in _REQUIRED:
            file = building.get(kind)
            if not file and kind in ("energy_simulation", "weather"):
                raise ScenarioError(f"{path}: building '{name}' names no {kind}; give it a file, as CityLearn needs one")
            # Buildings share weather and prices. In their own file, the columns that may be empty depend on the building.
            if file and ((kind, file) not in checked or kind == "energy_simulation"):
                checked.add((kind, file))
                _check_numbers(files.read(file, kind), kind, _observed(schema, building))
        for charger in (building.get("chargers") or {}).values():
            series = files.read(charger["charger_simulation"], "charger_simulation")
            plugged_in.append((series, _check_charger(series, vehicles)))
    _check_places(plugged_in, len(vehicles))


@dataclass(frozen=True)
class _Series:
    """One file of a scenario.

    Attributes:
        file: its path.
        frame: the rows that are run.
        first: row of the file that the frame begins with.
    """

    file: Path
    frame: pd.DataFrame
    first: int

    def numbers(self, column: str) -> np.ndarray:
        """Values of a column, NaN where there is none, shape (rows,); refuses text and infinity."""
        import pandas as pd

        raw = self.frame[column]
        values: np.ndarray = pd.to_numeric(raw, errors="coerce").to_numpy(dtype=np.float64)
        # CityLearn keeps float32, in which larger values are infinite.
        finite = np.abs(values) <= np.finfo(np.float32).max
        if not finite.all():
            self.refuse(~finite & raw.notna().to_numpy(), column, "write a finite number")
        return values

    def refuse(self, wrong: np.ndarray, column: str, remedy: str) -> None:
        """Raise for the first row of a mask, shape (rows,); do nothing where there is none."""
        if wrong.any():
            row = int(wrong.argmax())
            self.fail(row, f"{column} is {self.text(row, column)}; {remedy}")

    def text(self, row: int, column: str) -> str:
        """A value as a message shows it."""
        import pandas as pd

        value = self.frame[column].iloc[row]
        if pd.isna(value):
            return "missing"
        return f"{value:.10g}" if isinstance(value, np.number) else f"'{value}'"

    def line(self, row: int) -> int:
        """Line of a row in an editor, which counts from 1 and shows the header there."""
        return self.first + row + 2

    def fail(self, row: int, message: str) -> NoReturn:
        raise ScenarioError(f"{self.file}, line {self.line(row)}: {message}")


class _Files:
    """Reads a scenario's files, and checks that all have the same number of rows."""

    def __init__(self, path: Path, schema: dict[str, Any], root: Path) -> None:
        self._path, self._root = path, root
        self._first, self._last = schema["simulation_start_time_step"], schema["simulation_end_time_step"]
        if not 0 <= self._first < self._last:
            raise ScenarioError(
                f"{path}: simulation_start_time_step is {self._first} and simulation_end_time_step {self._last}; "
                "the first row to be run has to be 0 or more and the last one after it"
            )
        self._length: tuple[Path, int] | None = None

    def read(self, name: str, kind: str) -> _Series:
        """Read a file; refuses wrong columns and a wrong number of rows."""
        file = self._root / name
        is_charger = kind == "charger_simulation"
        required = _CHARGER if is_charger else _REQUIRED[kind]
        frame = _read_table(file)
        for column in required:
            if column not in frame:
                raise ScenarioError(f"{file} lacks the column {column}; add it, as CityLearn needs it")
        for other in frame:
            # From a charger's file CityLearn picks the columns that it needs.
            if not is_charger and other not in required and other not in _OPTIONAL.get(kind, ()):
                raise ScenarioError(f"{file} has a column '{other}', which CityLearn does not take; remove it")
        self._check_length(file, len(frame))
        return _Series(file, frame.iloc[self._first : self._last + 1], self._first)

    def _check_length(self, file: Path, rows: int) -> None:
        if self._length is None:
            self._length = (file, rows)
        other, expected = self._length
        if rows != expected:
            raise ScenarioError(
                f"{file} has {rows} rows and {other} has {expected}; all files of a scenario need a row for the same hours"
            )
        if rows <= self._last:
            raise ScenarioError(
                f"{file} has {rows} rows, but simulation_end_time_step {self._last} in {self._path} needs {self._last + 1}; "
                "add rows or lower it"
            )


def _read_table(file: Path) -> pd.DataFrame:
    """All rows of a file. Charger states that are no whole numbers come as text."""
    import pandas as pd

    try:
        if file.suffix.lower() in (".parquet", ".pq", ".parq"):  # the endings by which CityLearn tells them
            return pd.read_parquet(file)
        # A skipped line would shift the line numbers of messages.
        frame = pd.read_csv(file, skip_blank_lines=False, low_memory=False)
        if _STATE in frame and frame[_STATE].dtype.kind == "f":
            frame[_STATE] = pd.read_csv(file, usecols=[_STATE], dtype=str, skip_blank_lines=False)[_STATE]
    except ValueError as error:  # pandas' own errors and wrong encodings are ValueErrors
        reason = " ".join(str(error).split())
        raise ScenarioError(f"{file} cannot be read: {reason}; save it as CSV in UTF-8 with one line of names") from error
    if not frame.index.equals(pd.RangeIndex(len(frame))):
        raise ScenarioError(f"{file}: its rows have more values than line 1 has names; remove the commas at their ends")
    while len(frame) and frame.iloc[-1].isna().all():  # empty lines at the end
        frame = frame.iloc[:-1]
    return frame


def _check_numbers(series: _Series, kind: str, observed: set[str]) -> None:
    """Check a file of which every column is numeric."""
    for column in series.frame:
        name = str(column)
        values = series.numbers(name)
        if np.isnan(values).all() and name in _MAY_BE_EMPTY and name not in observed:
            continue
        series.refuse(np.isnan(values), name, "write a number")
        if name in _LIMITS:
            low, high, remedy = _LIMITS[name]
            series.refuse((values < low) | (values > high), name, remedy)
    if kind == "energy_simulation":
        both = series.numbers("cooling_demand") * series.numbers("heating_demand") != 0.0
        series.refuse(both, "cooling_demand", "CityLearn allows none in an hour with heating_demand")


def _observed(schema: dict[str, Any], building: dict[str, Any]) -> set[str]:
    """Observations that are active in a building."""
    active = {name for name, value in (schema.get("observations") or {}).items() if value.get("active")}
    return active - set(building.get("inactive_observations") or ())


def _check_charger(series: _Series, vehicles: dict[str, int]) -> np.ndarray:
    """Check a charger's file.

    Returns:
        Index of the vehicle that is plugged in, or a negative number, shape (rows,).
    """
    states = {str(state): state for state in (_PLUGGED, _COMING, _AWAY)}
    state = _decoded(series, _STATE, lambda text: states.get(text, 0), 0)
    series.refuse(
        state == 0,
        _STATE,
        "write 1 (plugged in), 2 (on its way) or 3 (away) in every row: where one is empty or has a decimal point, CityLearn "
        "reads the whole column as decimals and connects no vehicle",
    )
    vehicle = _decoded(series, _ID, lambda text: vehicles.get(text, _UNKNOWN), _NO_VEHICLE)
    plugged, coming = state == _PLUGGED, state == _COMING
    _check_vehicles(series, vehicle, plugged | coming)

    before = np.concatenate([[0], state[:-1]])
    vehicle_before = np.concatenate([[_NO_VEHICLE], vehicle[:-1]])
    changed = vehicle != vehicle_before
    other = plugged & np.isin(before, (_COMING, _AWAY)) & changed & (vehicle_before != _NO_VEHICLE)
    series.refuse(other, _ID, "the row before, with state 2 or 3, names another vehicle, at which CityLearn stops")
    # The first row is no arrival, as the row before is unknown. An arrival after state 2 has its charge in the row before.
    arrives = plugged & ((before == _AWAY) | (before == _PLUGGED) & changed)

    for column, needed, why in (
        (_DEPARTURE, plugged, "a row with state 1 needs the steps until departure"),
        (_ARRIVAL, coming, "a row with state 2 needs the steps until arrival"),
    ):
        series.refuse(needed & ~(series.numbers(column) >= 0.0), column, f"{why}, 0 or more")
    for column, needed, why in (
        (_REQUIRED_SOC, plugged, "a row with state 1 needs the state of charge at departure"),
        (_ARRIVAL_SOC, coming, "a row with state 2 needs the state of charge on arrival"),
        (_ARRIVAL_SOC, arrives, "the first row of an unannounced vehicle needs its state of charge, else it is random"),
    ):
        series.refuse(needed & np.isnan(_soc(series, column)), column, why)
    if _CURRENT_SOC in series.frame:
        _soc(series, _CURRENT_SOC)
    return np.where(plugged, vehicle, _NO_VEHICLE)


def _decoded(series: _Series, column: str, code: Callable[[str], int], missing: int) -> np.ndarray:
    """A column of few different values as numbers, shape (rows,)."""
    import pandas as pd

    codes, values = pd.factorize(series.frame[column])
    # The code of a missing value is -1 and takes the last.
    return np.array([*(code(str(value)) for value in values), missing])[codes]


def _check_vehicles(series: _Series, vehicle: np.ndarray, present: np.ndarray) -> None:
    series.refuse(present & (vehicle == _NO_VEHICLE), _ID, "a row with state 1 or 2 needs a vehicle")
    if series.frame[_ID].dtype.kind in "iuf":
        remedy = "give vehicles names with a letter: CityLearn takes a column of numbers for numbers, and finds none of them"
        series.refuse(present, _ID, remedy)
    known = "write one of the included vehicles of electric_vehicles_def, as CityLearn never connects any other"
    series.refuse(present & (vehicle == _UNKNOWN), _ID, known)


def _soc(series: _Series, column: str) -> np.ndarray:
    """States of charge as they are written, NaN where there is none, shape (rows,).

    CityLearn decides value by value whether it is a fraction or a percentage, so it misreads a column with both: beside 80, it
    takes 1 for a full battery.
    """
    values = series.numbers(column)
    values = np.where(np.isin(values, _NO_SOC), np.nan, values)
    series.refuse((values < 0.0) | (values > 100.0), column, "write a fraction of 1, a percentage, or nothing")
    fraction, percent = (values > 0.0) & (values <= 1.0), values > 1.0
    if fraction.any() and percent.any():
        row, other = int(fraction.argmax()), int(percent.argmax())
        series.fail(
            row,
            f"{column} is {series.text(row, column)}, and {series.text(other, column)} in line {series.line(other)}; write "
            "fractions or percentages, not both, as CityLearn takes each value up to 1 for a fraction",
        )
    return values


def _check_places(plugged_in: list[tuple[_Series, np.ndarray]], vehicles: int) -> None:
    """Refuse a vehicle that is at two chargers in one row: CityLearn would charge it at both."""
    if not plugged_in:
        return
    place = np.full((vehicles, len(plugged_in[0][1])), -1)
    for charger, (series, vehicle) in enumerate(plugged_in):
        rows = np.flatnonzero(vehicle >= 0)
        taken = place[vehicle[rows], rows]
        if (taken >= 0).any():
            clash = int((taken >= 0).argmax())
            row, other = int(rows[clash]), plugged_in[taken[clash]][0].file
            series.fail(row, f"vehicle {series.text(row, _ID)} is plugged in here and in {other}; leave it at one charger")
        place[vehicle[rows], rows] = charger


def _check_attributes(path: Path, schema: dict[str, Any]) -> None:
    """Check the batteries' and chargers' attributes: CityLearn's own checks name none, or are missing."""
    for name, vehicle in _included(schema.get("electric_vehicles_def")):
        _check_ranges(f"{path}: vehicle '{name}'", vehicle.get("battery") or {}, _BATTERY_RANGES, _SIZES)
    for name, building in _included(schema["buildings"]):
        storage = building.get("electrical_storage")
        if storage:
            needed = () if storage.get("autosize") else _SIZES
            _check_ranges(f"{path}: building '{name}', electrical_storage", storage, _BATTERY_RANGES, needed)
        for charger_id, charger in (building.get("chargers") or {}).items():
            where = f"{path}: building '{name}', charger '{charger_id}'"
            _check_ranges(where, charger, _CHARGER_RANGES, ())
            attributes = charger.get("attributes") or {}
            for way in ("charging_power", "discharging_power"):
                low, high = attributes.get(f"min_{way}"), attributes.get(f"max_{way}")
                if low is not None and high is not None and low > high:
                    raise ScenarioError(f"{where}: min_{way} is {low}, above max_{way} {high}; lower it")


def _check_ranges(where: str, device: dict[str, Any], ranges: dict[str, _Range], needed: Collection[str]) -> None:
    attributes = device.get("attributes") or {}
    for attribute, (words, holds) in ranges.items():
        value = attributes.get(attribute)
        if value is None and attribute not in needed:
            continue
        if not isinstance(value, int | float) or not holds(value):
            raise ScenarioError(f"{where}: {attribute} is {'missing' if value is None else value}; it has to be {words}")


def _included(named: dict[str, Any] | None) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((name, value) for name, value in (named or {}).items() if value.get("include", True))
