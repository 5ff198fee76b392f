"""Reads a CSV file of a meter, as utilities and loggers export it, into values by the hour."""

import csv
import io
import re
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pandas as pd

from common.errors import ScenarioError

HOUR = pd.Timedelta(hours=1)
SHOWN = 5  # gaps that a message names
SAMPLE = 100_000  # letters that tell what is between columns
_AS_TIME = "it has to be a time such as 2024-03-31 14:00, with hours from 0 to 23"
_UNIT = re.compile(r"[(\[]\s*([^)\]]+?)\s*[)\]]$|_([A-Za-z]+)$")  # at the end of a column's name: (kWh), [kWh], _kwh
_DECIMAL_COMMA = re.compile(r"^([^.,]*\d),(\d[^.,]*)$")  # the one comma of a cell without points
_THOUSANDS = re.compile(r"\d[.,']\d{3}[.,]|\d[.,']\d{3}$")
_DAY_FIRST = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})\b")
_OFFSET = re.compile(r":\d.*(?:Z|[+-]\d{2}(?::?\d{2})?)$")


@dataclass(frozen=True)
class Quantity:
    """What a file measures.

    Attributes:
        name: of the option that names the file, without its dashes.
        amounts: units that add up over an hour, each with what one of it is in the unit of the hours' values.
        rates: units of which an hour has the mean, likewise.
        below_zero: why it cannot be below zero, and what to do; empty where it can.
    """

    name: str
    amounts: dict[str, float]
    rates: dict[str, float]
    below_zero: str = ""

    @property
    def _units(self) -> dict[str, tuple[str, float]]:
        """Each unit and what one of it is, by the unit's plain name."""
        return {_plain(unit): (unit, size) for unit, size in {**self.amounts, **self.rates}.items()}

    @property
    def _known(self) -> str:
        return ", ".join(unit for unit, _ in self._units.values())

    def of_option(self, given: str) -> tuple[str, float] | None:
        """The unit that the option says, and what one of it is; None where it is not given, a ScenarioError for no unit."""
        unit = self._units.get(_plain(given))
        if given and not unit:
            raise ScenarioError(f"--{self.name}-unit {given}: there are {self._known}")
        return unit

    def split(self, path: Path, column: str, given: str) -> tuple[str, str, float, str]:
        """Name of a column without its unit, the unit, what one of it is, and how it is written.

        Raises:
            ScenarioError: where nothing says the unit, or the name says another one than the option.
        """
        match = _UNIT.search(column)
        written = match[1] or match[2] if match else ""
        of_column, of_option = self._units.get(_plain(written)), self.of_option(given)
        if of_column and of_option and of_column != of_option:
            raise ScenarioError(f"{path}: the name {column!r} has another unit than --{self.name}-unit {given}; leave one out")
        if not (of_column or of_option):
            raise ScenarioError(
                f"{path}: no unit is known of {column!r}; say it by --{self.name}-unit, one of {self._known}, or remove it"
            )
        unit, size = of_column or of_option or ("", 0.0)
        name = column[: match.start()] if match and of_column else column
        return name.strip().replace(" ", "_"), unit, size, written if of_column else given


def _plain(unit: str) -> str:
    """A unit without what says of what it is: any money is EUR, and g CO2/kWh is g/kWh."""
    amount, slash, per = re.sub(r"\s|co2(-?eq)?\.?", "", unit.casefold()).partition("/")
    return f"{'eur' if slash and amount not in ('g', 'kg', 't') else amount}{slash}{per}"


_ENERGY, _POWER = {"Wh": 1e-3, "kWh": 1.0, "MWh": 1e3}, {"W": 1e-3, "kW": 1.0, "MW": 1e3}
_NET = "a building uses 0 or more; where a meter counts what is left of PV, add what that generates"
LOAD = Quantity("load", _ENERGY, _POWER, _NET)  # kWh in an hour
PV = Quantity("pv", _ENERGY, _POWER, "PV generates 0 or more; write 0 for what it draws at night")  # kWh in an hour
PRICE = Quantity("price", {}, {"EUR/kWh": 1.0, "EUR/MWh": 1e-3})  # for a kWh, in any money
CARBON = Quantity("carbon", {}, {"kg/kWh": 1.0, "g/kWh": 1e-3, "kg/MWh": 1e-3, "t/MWh": 1.0})  # kg for a kWh


@dataclass(frozen=True)
class Clock:
    """How times are written.

    Attributes:
        zone: name of the time zone of local times, such as `Europe/Berlin`; empty for times that know no summer time.
        label: whether a time is the begin or the end of its interval.
    """

    zone: str = ""
    label: Literal["begin", "end"] = "begin"

    def __post_init__(self) -> None:
        try:
            ZoneInfo(self.zone or "UTC")
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ScenarioError(f"--zone {self.zone}: there is no such time zone; write one such as Europe/Berlin") from None

    def local(self, instants: pd.DatetimeIndex) -> pd.DatetimeIndex:
        """What the clocks on the site show at instants."""
        return instants.tz_convert(self.zone or "UTC")


@dataclass(frozen=True)
class Hours:
    """What a file has by the hour.

    Attributes:
        values: shape (hours, columns), named without their units; its index has the beginnings of hours in UTC, or as the file
            has them without a zone.
        filled: gaps that were filled, in words; empty for none.
        unit: of the numbers in the file, as it is written.
    """

    values: pd.DataFrame
    filled: str
    unit: str


def read_table(path: Path) -> pd.DataFrame:
    """A CSV file as it is, every cell a text, with points in decimals, without empty rows and columns without a name.

    Its index has each row's line, from 0 for the line below the names.

    Raises:
        ScenarioError: if it is no table.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{path} is no text in UTF-8; save it again as CSV UTF-8, as Excel calls it") from None
    try:
        above = text[: len(text) - len(text.lstrip())].count("\n")
        text = text.lstrip()
        if not text:
            raise ScenarioError(f"{path} is empty; its first line has to be that of the names")
        if not re.search(r"[,;\t]", text[:SAMPLE]):
            raise ScenarioError(f"{path} has a single column; give times and numbers, with commas, semicolons or tabs between")
        separator = csv.Sniffer().sniff(text[:SAMPLE], ",;\t").delimiter
        table = pd.read_csv(io.StringIO(text), sep=separator, dtype=str, skipinitialspace=True, skip_blank_lines=False)
        # Pandas changes those that are empty or there twice.
        table.columns = pd.Index(next(csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True))).str.strip()
    except (csv.Error, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ScenarioError(
            f"{path} is no table ({str(error).strip()}); its first line has to be that of the names: remove what stands above, "
            "or save it with commas, semicolons or tabs between columns"
        ) from None
    if not isinstance(table.index, pd.RangeIndex):
        raise ScenarioError(
            f"{path}: its rows have more cells than line {above + 1} has names; end that line with {separator!r} too, or "
            "remove what stands above the names"
        )
    table.index += above
    table = table.apply(lambda column: column.str.strip()).dropna(how="all")
    table = table.loc[:, (table.columns != "") | table.notna().any()]
    if (twice := table.columns[table.columns.duplicated()]).size:
        raise ScenarioError(f"{path} has two columns called {twice[0]!r}; give each a name of its own")
    if table.empty:
        raise ScenarioError(f"{path} has no rows")
    if separator == ",":
        return table
    return table.replace(_DECIMAL_COMMA, r"\1.\2", regex=True)


def read_hours(path: Path, quantity: Quantity, unit: str, clock: Clock, fill: int, readings: bool = False) -> Hours:
    """Read a file with times, or dates and times, in its first columns, and numbers in the others.

    Args:
        path: CSV file.
        quantity: what it measures.
        unit: of the numbers; empty where the names of columns end in it.
        clock: how its times are written.
        fill: longest gap in hours that is filled, by the line between its ends.
        readings: whether the numbers are what a meter has counted so far.

    Raises:
        ScenarioError: in a line that says what is wrong and what to do.
    """
    table = read_table(path)
    times, columns = _times(table)
    values = pd.DataFrame({name: numbers(path, table[name]) for name in columns})
    if values.empty:
        raise ScenarioError(f"{path} has no column of numbers beside its times")
    values.index = clock.local(instants(path, times, clock))
    names, units, (size, *_), (written, *_) = zip(*(quantity.split(path, name, unit) for name in columns), strict=True)
    if len(set(units)) > 1:
        raise ScenarioError(f"{path} has columns in several units; write all in one")
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise ScenarioError(f"{path} has two columns for {twice}; give each a name of its own")
    values.columns = pd.Index(names)
    values = _in_order(path, values, times, clock) * size
    step = _step(path, pd.DatetimeIndex(values.index))
    if readings and units[0] in quantity.rates:
        raise ScenarioError(f"{path} is in {written}, and --readings are of energy; say its unit, or leave --readings out")
    if readings:
        values = _counted(path, values.asfreq(step))
    elif units[0] in quantity.amounts and (counter := next((name for name in names if _is_counter(values[name])), None)):
        raise ScenarioError(
            f"{path}: {counter!r} never falls, as what a meter has counted so far; if it is so, add --readings, else write it "
            "as power, such as in kW"
        )
    if clock.label == "end" and not readings:
        values.index = pd.DatetimeIndex(values.index) - step
    by_hour, filled = _filled(path, _by_the_hour(values, step, readings or units[0] in quantity.amounts), fill)
    for name in by_hour if quantity.below_zero else ():
        if (below := by_hour[name][by_hour[name] < 0.0]).any():
            raise ScenarioError(
                f"{path}: {name} is {below.iloc[0]:g} in the hour from {below.index[0]:%Y-%m-%d %H:%M}; {quantity.below_zero}"
            )
    return Hours(by_hour.tz_convert("UTC"), filled, written)


def _times(table: pd.DataFrame) -> tuple[pd.Series, list[str]]:
    """The texts of times, and the names of the other columns.

    Dates and times of a day may have a column each. A second column of times has the other end of each row's interval.
    """
    first, *others = table.columns
    is_date = ":" not in str(table[first].iloc[0])
    clocks = list(takewhile(lambda name: ":" in str(table[name].iloc[0]), others[: 1 + is_date]))
    return (table[first] + " " + table[clocks[0]] if clocks and is_date else table[first]), others[len(clocks) :]


def numbers(path: Path, texts: pd.Series) -> pd.Series:
    """A column as numbers; NaN where there is nothing. Raises a ScenarioError for what is no number."""
    values = pd.to_numeric(texts, errors="coerce")
    wrong = ~np.isfinite(values) & texts.notna() & ~texts.fillna("").str.lower().isin(["", "nan", "na", "n/a", "null", "-"])
    if wrong.any():
        first = texts[wrong].iloc[0]
        how = ", with a point before decimals and nothing between thousands" if _THOUSANDS.search(first) else ""
        raise ScenarioError(f"{at_line(path, wrong)}: {texts.name} is {first!r}; it has to be a number{how}")
    return values.astype(float)


def at_line(path: Path, rows: pd.Series) -> str:
    """Place of the first of some rows of `read_table`."""
    return f"{path}, line {rows.index[int(rows.argmax())] + 2}"


def instants(path: Path, texts: pd.Series, clock: Clock) -> pd.DatetimeIndex:
    """Times in UTC; without a zone as they are written. Raises a ScenarioError for what is no time."""
    texts = texts.fillna("")
    written = texts if texts.iloc[0][:4].isdigit() else _year_first(path, texts)
    offsets = written.str.contains(_OFFSET)
    has_offset = bool(offsets.iloc[0])
    times = pd.to_datetime(written, format="ISO8601", errors="coerce", utc=True)
    if times.isna().any():
        raise ScenarioError(f"{at_line(path, times.isna())}: the time is {texts[times.isna()].iloc[0]!r}; {_AS_TIME}")
    if (other := offsets != has_offset).any():
        raise ScenarioError(
            f"{at_line(path, other)}: one of {texts.iloc[0]} and {texts[other].iloc[0]} has an offset from UTC; write it "
            "of all times, or of none"
        )
    if has_offset and not clock.zone:
        raise ScenarioError(f"{path}: times have an offset from UTC; say by --zone which clock people there live by")
    if not has_offset:
        times = times.dt.tz_localize(None)
        # Where summer time ends, an hour is there twice; the first is of summer time.
        is_first = times.groupby(times).cumcount(ascending=times.iloc[0] <= times.iloc[-1]) == 0
        local = times.dt.tz_localize(clock.zone or "UTC", ambiguous=is_first.to_numpy(), nonexistent="NaT")
        if (lost := local.isna()).any():
            raise ScenarioError(
                f"{at_line(path, lost)}: {texts[lost].iloc[0]} does not exist in {clock.zone}, as summer time begins then; if "
                "the times have no summer time, leave --zone out"
            )
        times = local.dt.tz_convert("UTC")
    return pd.DatetimeIndex(times)


def _year_first(path: Path, texts: pd.Series) -> pd.Series:
    """Dates as 31.03.2024, 31/03/2024 or 03/31/2024 with the year first; all rows tell which of the first two is the day."""
    parts = texts.str.extract(_DAY_FIRST)
    if parts.isna().any(axis=None):
        wrong = parts.isna().any(axis=1)
        raise ScenarioError(f"{at_line(path, wrong)}: the time is {texts[wrong].iloc[0]!r}; {_AS_TIME}")
    first, second = parts[0].astype(int), parts[2].astype(int)
    if (first.max() > 12) == (second.max() > 12):
        raise ScenarioError(
            f"{path}: the rows do not tell the day from the month, as in {texts.iloc[0]}; write 2024-03-31 14:00"
        )
    order = r"\4-\3-\1" if first.max() > 12 else r"\4-\1-\3"
    written = texts.str.replace(_DAY_FIRST, order, regex=True)
    return written.str.replace(r"-(\d)(?!\d)", r"-0\1", regex=True).str.replace(r" (\d):", r" 0\1:", regex=True)


def _in_order(path: Path, values: pd.DataFrame, texts: pd.Series, clock: Clock) -> pd.DataFrame:
    index = pd.DatetimeIndex(values.index)
    if (twice := index[index.duplicated()]).size:
        why = "" if clock.zone else ", or, if these are local times with summer time, say by --zone where"
        raise ScenarioError(f"{path} has {twice[0]:%Y-%m-%d %H:%M} twice; remove one{why}")
    if (again := texts[texts.duplicated()]).size and not (index.is_monotonic_increasing or index.is_monotonic_decreasing):
        raise ScenarioError(
            f"{path}, line {again.index[0] + 2}: {again.iloc[0]} is there twice, as summer time ends, and rows are in no order "
            "that tells which is the first; write times with their offset from UTC, such as 2024-10-27 02:00+02:00"
        )
    return values.sort_index()


def _step(path: Path, index: pd.DatetimeIndex) -> pd.Timedelta:
    """Time between two rows: an hour, or a whole part of it."""
    if len(index) < 2:
        raise ScenarioError(f"{path} has one row; it needs a row for each hour, or for each part of an hour")
    step = pd.Series(index).diff().median()
    minutes = f"{step / pd.Timedelta(minutes=1):g} minutes"
    if HOUR % step != pd.Timedelta(0):
        raise ScenarioError(f"{path} has a row every {minutes}; it needs one for each hour, or for each whole part of an hour")
    off, of_utc = (_between(clock, step) for clock in (index.tz_localize(None), index.tz_convert("UTC")))
    if len(off) and not len(of_utc):
        raise ScenarioError(
            f"{path}: rows are {minutes} apart, and {off[0]:%Y-%m-%d %H:%M} on the clock of {index.tz} is no full hour; give "
            "rows of 30 or 15 minutes, or another --zone"
        )
    if len(off):
        raise ScenarioError(
            f"{path}, {off[0]:%Y-%m-%d %H:%M:%S}: rows are {minutes} apart, counted from full hours, and this one is between "
            "two; correct its time, or remove it"
        )
    return step


def _between(clock: pd.DatetimeIndex, step: pd.Timedelta) -> pd.DatetimeIndex:
    return clock[(clock - clock.floor("h")) % step != pd.Timedelta(0)]


def _is_counter(values: pd.Series) -> bool:
    """Whether numbers never fall and rise often, as those on a meter do. A load's rise and fall every day."""
    change = np.diff(values.dropna())
    return bool(len(change) >= 48 and (change >= 0.0).all() and (change > 0.0).mean() > 0.2)


def _counted(path: Path, values: pd.DataFrame) -> pd.DataFrame:
    """What was counted from each reading to the next, of readings at equal distances; NaN around a missing one."""
    counted = values.diff().shift(-1).iloc[:-1]
    fallen = (counted < 0.0).any(axis=1)
    if fallen.any():
        when = counted.index[int(np.argmax(fallen.to_numpy()))]
        raise ScenarioError(
            f"{path}: a reading falls after {when:%Y-%m-%d %H:%M}; if these are no readings, leave --readings out"
        )
    return counted


def _by_the_hour(values: pd.DataFrame, step: pd.Timedelta, adds_up: bool) -> pd.DataFrame:
    """Whole hours from the first to the last; NaN for an hour of which a part is missing."""
    by_hour = values.resample("h")
    hours = by_hour.sum() if adds_up else by_hour.mean()
    return hours.where(by_hour.count() == HOUR // step)


def _filled(path: Path, hours: pd.DataFrame, fill: int) -> tuple[pd.DataFrame, str]:
    """Fill short gaps, and say which; a ScenarioError names longer ones. Both ends are cut to hours that all columns have."""
    whole = hours.notna().all(axis=1)
    if not whole.any():
        raise ScenarioError(f"{path} has no hour with a value in each column")
    hours = hours.loc[whole.idxmax() : whole[::-1].idxmax()]
    gaps = [(str(name), start, length) for name in hours for start, length in _runs(hours[name].isna().to_numpy())]

    def told(some: list[tuple[str, int, int]]) -> str:
        named = [f"{name} from {hours.index[start]:%Y-%m-%d %H:%M} for {length} h" for name, start, length in some[:SHOWN]]
        return "; ".join(named) + (f" and {len(some) - SHOWN} more" if len(some) > SHOWN else "")

    if long := [gap for gap in gaps if gap[2] > fill]:
        raise ScenarioError(f"{path} has gaps: {told(long)}; complete the file, or fill them by a line with --fill")
    return hours.interpolate(), told(gaps)


def _runs(missing: np.ndarray) -> list[tuple[int, int]]:
    """Start and length of each run of True."""
    edges = np.flatnonzero(np.diff(missing.astype(int), prepend=0, append=0))
    return list(zip(edges[::2].tolist(), np.diff(edges)[::2].tolist(), strict=True))
