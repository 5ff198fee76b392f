"""Numbers and lists as sentences show them: below a thousand of a unit. Tables of commands keep five digits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from common.measure import A_YEAR, BASIS, SCORE, Measure, larger_units

_AMOUNTS_FROM = 10.0  # a rating so far from 0 is an amount, and no score
DIGITS = 3  # significant ones, in sentences and tables
RULES = "What simple rules save is measured by a judgement: python -m tuning.judge EXPERIMENT."
_TIMES = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))


def uncontrolled(has_vehicles: bool) -> str:
    """How a sentence names what savings are measured against, where a reader meets it first."""
    return f"the same site without control (batteries idle{', vehicles charge at once' if has_vehicles else ''})"


def with_unit(measure: Measure) -> str:
    """The heading of a table's column."""
    return ", ".join(filter(None, [measure.name, measure.shown_unit, BASIS if measure.over == A_YEAR else ""]))


def number(value: float, sign: bool = False) -> str:
    """A number with three significant digits; "none" where there is none."""
    if value is None or not math.isfinite(value):
        return "none"
    if value == 0:
        return "0"
    plus = "+" if sign else ""
    scientific = f"{value:{plus}.{DIGITS - 1}e}"
    # Of the rounded number, which may have one digit more, as that of 9.996.
    exponent = int(scientific.partition("e")[2])
    return f"{float(scientific):{plus},.{max(DIGITS - 1 - exponent, 0)}f}" if -4 <= exponent < 12 else scientific


def plain(value: float) -> str:
    """A setting's value: whole numbers as they are, others with three significant digits."""
    whole = math.isfinite(value) and float(value).is_integer() and abs(value) < 1e9
    return f"{int(value)}" if whole else number(value)


def score(value: float) -> str:
    """A score, as everywhere with four decimals and its sign; a rating that is an amount as `number`."""
    return SCORE.shown(value) if abs(value) < _AMOUNTS_FROM else number(value, sign=True)


def percent(part: float, sign: bool = False) -> str:
    """A part as per cent with a digit, such as "4.1 %"; "none" where it is no number."""
    if part is None or not math.isfinite(part):
        return "none"
    plus = "+" if sign else ""
    return f"{part * 100:{plus}.1f} %" if abs(part) < 0.9995 else f"{part * 100:{plus},.0f} %"


@dataclass(frozen=True)
class Unit:
    """A unit, such as MWh, that fits the largest of several values, and the factor from the first unit."""

    unit: str
    factor: float

    def __call__(self, value: float) -> str:
        """A value in the first unit, in words."""
        return f"{number(value * self.factor)} {self.unit}".rstrip()


def unit_for(unit: str, most: float) -> Unit:
    """The unit in which a value is below a thousand."""
    units, step = larger_units(unit), 0
    while math.isfinite(most) and abs(most) * 1000.0**-step >= 1000.0 and step < len(units) - 1:
        step += 1
    return Unit(units[step], 1000.0**-step)


def duration(seconds: float) -> str:
    """A time in its two largest units, such as "1 h 12 min"."""
    if seconds is None or not math.isfinite(seconds):
        return "none"
    if seconds < 10:
        return f"{number(seconds)} s"
    parts: list[tuple[int, str]] = []
    rest = round(seconds)
    for size, unit in _TIMES:
        count, rest = divmod(rest, int(size))
        if count or parts:
            parts.append((count, unit))
    return " ".join(f"{count} {unit}" for count, unit in parts[:2] if count)


def listed(names: Sequence[str]) -> str:
    """Names as a list within a sentence."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"


def capital(text: str) -> str:
    """A text as the begin of a sentence."""
    return text[:1].upper() + text[1:]


def first_of(shown: int, count: int, what: str) -> str:
    """What a chart leaves out."""
    return f" Shown are {shown:,} of {count:,} {what}." if shown < count else ""
