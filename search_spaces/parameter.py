"""One hyperparameter: its type, its valid values, how it is searched and on what it depends."""

import enum
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from common.errors import UserError
from common.paths import shortened
from common.texts import number, whole_number

Value = int | float | str | bool | None
Assignment = dict[str, Value]
MOST_LAYERS, MOST_UNITS = 16, 8192  # of networks
_FLAGS = {"true": True, "false": False}


class SpaceError(UserError, ValueError):
    """A hyperparameter that does not exist, or a value that is not valid; names it and what is valid."""


class Kind(enum.Enum):
    """Type of a hyperparameter's value."""

    INTEGER = "a whole number"
    NUMBER = "a number"
    TEXT = "one of its choices"
    SIZES = "sizes of layers with commas between, as 256,256"
    FLAG = "true or false"


_TYPES = {Kind.INTEGER: int, Kind.NUMBER: int | float, Kind.SIZES: str, Kind.FLAG: bool}


class Scale(enum.Enum):
    """How the number that Optuna draws, the inner one, becomes the hyperparameter's value."""

    IDENTITY = ""
    POWER_OF_TWO = "log2_"
    ONE_MINUS = "one_minus_"

    def outer(self, inner: float | int | str) -> Value:
        """Value of an inner number."""
        if self is Scale.POWER_OF_TWO:
            return int(2 ** int(inner))
        if self is Scale.ONE_MINUS:
            return 1.0 - float(inner)
        return inner

    def has_value(self, low: float, high: float) -> bool:
        """Whether a whole number on this scale lies between two bounds, both included."""
        if self is Scale.POWER_OF_TWO:
            low = max(low, 1.0)
        return low <= high and math.ceil(self.inner(low)) <= self.floor(high)

    def inner(self, outer: float) -> float:
        """Inner number of a value, not rounded."""
        if self is Scale.POWER_OF_TWO:
            return math.log2(outer) if outer > 0 else -math.inf
        return 1.0 - outer if self is Scale.ONE_MINUS else outer

    def floor(self, outer: float) -> float:
        """Greatest whole inner number up to a value, on a scale that rises."""
        return math.floor(self.inner(outer)) if outer < math.inf else math.inf


@dataclass(frozen=True)
class AtMost:
    """Condition: the value is at most `part` times the value of `name`, an earlier hyperparameter or a limit."""

    name: str
    part: float = 1.0

    def of(self, known: Mapping[str, Value]) -> float:
        """The greatest value; infinite where no number is known for `name`."""
        value = known.get(self.name)
        return self.part * value if isinstance(value, int | float) else math.inf

    def describe(self, value: float) -> str:
        """The bound in words, where `name` has this value."""
        return f"{'' if self.part == 1.0 else f'{self.part:g} of '}{self.name}={value:.15g}"


@dataclass(frozen=True)
class PartOf:
    """How a value is searched as a part of that of `name`, an earlier hyperparameter: divided by two again and again.

    What Optuna draws is how often. So the range is the same whatever the other value is.
    """

    name: str
    least: int = 1  # value that such a part is not below, unless the other one is

    def of(self, whole: int, halvings: int) -> int:
        """The part of a value."""
        return max(whole >> halvings, min(self.least, whole))


@dataclass(frozen=True)
class OnlyIf:
    """Condition: the value acts only where `name`, an earlier hyperparameter, has one of some values."""

    name: str
    values: tuple[Value, ...]

    def describe(self) -> str:
        """The condition in words."""
        return f"{self.name} {' or '.join(str(value).lower() for value in self.values)}"


@dataclass(frozen=True)
class SearchedFrom:
    """Where a range begins if `name`, an earlier hyperparameter, has one of some values.

    What Optuna draws is then spread over the rest of the range. So its own range is the same whatever the other value is.
    """

    low: float
    name: str
    values: tuple[Value, ...]

    def describe(self) -> str:
        """The condition in words."""
        return f"{self.low:g} with {OnlyIf(self.name, self.values).describe()}"


@dataclass(frozen=True)
class Bounds:
    """What a user's file allows for one hyperparameter, in outer values. No condition overrides it."""

    source: str  # path of the file, for messages
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[Value, ...] = ()  # the values, where they are listed; empty for a range

    def contain(self, value: Value) -> bool:
        """Whether a value lies within them."""
        if self.choices:
            return value in self.choices
        return isinstance(value, int | float) and self.low <= value <= self.high

    def nearest(self, value: Value) -> Value:
        """The value, or the nearest one within the bounds: of choices the first, for none the greatest."""
        if self.contain(value):
            return value
        if self.choices:
            return self.choices[0]
        return self.low if isinstance(value, int | float) and value < self.low else self.high

    def describe(self) -> str:
        """The bounds in words."""
        if len(self.choices) == 1 or self.low == self.high:
            return f"value={self.choices[0] if self.choices else self.low} in {self.source}"
        if self.choices:
            return f"choices={list(self.choices)} in {self.source}"
        return f"low={self.low:.15g} and high={self.high:.15g} in {self.source}"


@dataclass(frozen=True)
class Parameter:
    """One hyperparameter."""

    name: str  # as the field and Stable-Baselines3 call it
    kind: Kind
    default: Value  # where it is neither searched nor set
    meaning: str  # one line
    low: float = -math.inf  # valid values of a number
    high: float = math.inf
    choices: tuple[str, ...] = ()  # valid values of a text
    optional: bool = False  # whether None (`none` on the command line) is valid and switches it off
    search: BaseDistribution | None = None  # how Optuna draws it, on the inner scale; None where it is not searched
    scale: Scale = Scale.IDENTITY  # from the inner to the outer scale
    part_of: PartOf | None = None  # what it is searched as a part of; None where it is drawn by itself
    enough: str = ""  # name of a limit from which on all values act alike, so that the range ends there
    # Where else the range ends, though greater values are valid. For a part it is an end of the whole divided by the part.
    searched_to: AtMost | None = None
    searched_from: SearchedFrom | None = None  # where else the range starts, though lower values are valid
    at_most: AtMost | None = None  # condition on another value
    only_if: OnlyIf | None = None  # where it acts; elsewhere it is neither searched nor set
    own: Bounds | None = None  # of the user's file; None where the file does not name it

    def __post_init__(self) -> None:
        if self.at_most and (self.kind is not Kind.INTEGER or self.scale is Scale.ONE_MINUS):
            raise ValueError(f"{self.name}: a condition needs whole numbers on a scale that rises")
        if (self.part_of or self.enough or self.searched_to) and self.scale is not Scale.POWER_OF_TWO:
            raise ValueError(f"{self.name}: parts of a value, and the end of a range, need the scale of powers of two")
        if self.searched_from and not (
            self.scale is Scale.IDENTITY and isinstance(self.search, FloatDistribution) and not self.search.log
        ):
            raise ValueError(f"{self.name}: a range that can begin elsewhere is of numbers, on no other scale")

    @property
    def least(self) -> float:
        """Least value, of a number: the valid one, or the lower bound of the user's file."""
        return max(self.low, self.own.low) if self.own else self.low

    @property
    def inner_name(self) -> str:
        """Name of what Optuna draws, and so of the column in its study."""
        return f"{self.scale.value}{self.part_of.name}_per_{self.name}" if self.part_of else self.scale.value + self.name

    def range(self, within: BaseDistribution, whole: tuple[float, float]) -> dict[str, Any]:
        """Where and how it is drawn within a distribution, as JSON; `whole` are the ends of what it is a part of."""
        drawn: dict[str, Any] = {} if self.only_if is None else {"only_if": [self.only_if.name, list(self.only_if.values)]}
        if isinstance(within, CategoricalDistribution):
            return {**drawn, "choices": list(within.choices)}
        assert isinstance(within, IntDistribution | FloatDistribution)
        low, high = sorted(float(self.scale.outer(end)) for end in (within.low, within.high))  # type: ignore[arg-type]
        if self.part_of:
            # What is drawn is how often the whole is halved.
            least, (lowest, highest) = self.part_of.least, whole
            low, high = max(min(least, lowest), lowest / high), max(min(least, highest), highest / low)
        drawn |= {"low": low, "high": high}
        if self.scale is Scale.POWER_OF_TWO:
            return {**drawn, "log": True, "whole": True, "powers": True}
        kind = {"from_one": True} if self.scale is Scale.ONE_MINUS else {"whole": isinstance(within, IntDistribution)}
        return {**drawn, "log": within.log, **kind}

    def outer(self, inner: float | int | str, values: Mapping[str, Value]) -> Value:
        """Value of an inner number."""
        if self.searched_from:
            assert isinstance(inner, float)
            top, part = self._spread(values)
            return top - (top - inner) * part
        if not self.part_of:
            return self.scale.outer(inner)
        whole = values[self.part_of.name]
        assert isinstance(whole, int)
        return self.part_of.of(whole, int(inner))

    def nearest(self, value: Value, values: Mapping[str, Value], within: BaseDistribution) -> float | int | str:
        """Inner number within a distribution that is nearest to a value; to none, which has no limit, the upper end."""
        if isinstance(within, CategoricalDistribution):
            return self._nearest_choice(value, within.choices)
        assert isinstance(within, IntDistribution | FloatDistribution)
        if value is None:
            # The upper end of the value itself.
            return within.low if self.scale is Scale.ONE_MINUS or self.part_of else within.high
        assert not isinstance(value, str)
        if self.part_of:
            whole = values[self.part_of.name]
            assert isinstance(whole, int)
            inner = math.log2(whole / value)
        elif self.searched_from:
            top, part = self._spread(values)
            inner = top - (top - value) / part
        else:
            inner = self.scale.inner(value)
        inner = min(max(inner, within.low), within.high)
        return round(inner) if isinstance(within, IntDistribution) else float(inner)

    def _spread(self, values: Mapping[str, Value]) -> tuple[float, float]:
        """Upper end of the range, and the part of it that is left above where it begins with some values."""
        begin, whole = self.searched_from, self.search
        assert begin
        assert isinstance(whole, FloatDistribution)
        left = whole.high - begin.low if values[begin.name] in begin.values else whole.high - whole.low
        return whole.high, left / (whole.high - whole.low)

    def _nearest_choice(self, value: Value, choices: Sequence[Any]) -> float | int | str:
        """The choice itself, of sizes the one with the most similar number of units, else the default or the first."""
        if value in choices:
            nearest = value
        elif self.kind is Kind.SIZES:
            nearest = min(choices, key=lambda choice: abs(math.log(_units(choice) / _units(value))))
        elif isinstance(value, int | float) and all(isinstance(choice, int | float) for choice in choices):
            nearest = min(choices, key=lambda choice: abs(choice - value))
        else:
            nearest = self.default if self.default in choices else choices[0]
        assert isinstance(nearest, int | float | str)
        return nearest

    def describe(self) -> str:
        """What is valid and what is searched, in a line."""
        valid = f"in {', '.join(self.choices)}" if self.choices else f"from {self.low:g} to {self.high:g}"
        parts = [f"{self.kind.value} {valid}", *(["or none"] if self.optional else []), f"by default {self.default}"]
        parts.append(f"searched as {self.inner_name} in {self.search}" if self.search else "not searched")
        if self.search:
            parts += [f"at least {self.part_of.least}"] if self.part_of else []
            parts += [f"{self.enough} are enough"] if self.enough else []
            parts += [f"searched to {self.searched_to.part:g} of {self.searched_to.name}"] if self.searched_to else []
            parts += [f"from {self.searched_from.describe()}"] if self.searched_from else []
        parts += [str(condition) for condition in (self.at_most, self.only_if) if condition]
        return ", ".join(parts)

    def parse(self, text: str) -> Value:
        """Value of a text of the command line. Raises a SpaceError if it is not valid."""
        if self.optional and text.lower() == "none":
            return None
        value: Value = text
        try:
            if self.kind is Kind.INTEGER:
                value = whole_number(text)
            elif self.kind is Kind.NUMBER:
                value = number(text)
            elif self.kind is Kind.FLAG:
                value = _FLAGS[text.lower()]
        except (ValueError, KeyError):
            raise SpaceError(f"{self.name}={text}: it takes {self.kind.value}{', or none' * self.optional}") from None
        self.check(value)
        return value

    def check(self, value: Value) -> None:
        """Raise a SpaceError for a value that is not valid; it quotes the value and the bound."""
        if value is None and self.optional:
            return
        if self.kind is Kind.TEXT:
            if value not in self.choices:
                raise SpaceError(f"{self.name}={shortened(value)}: it is one of {', '.join(self.choices)}")
        elif not _is_of(self.kind, value):
            raise SpaceError(f"{self.name}={toml(value)}: it takes {self.kind.value}")
        elif isinstance(value, str):
            sizes = value.split(",")
            if not all(size.isascii() and size.isdigit() and len(size) < 9 and 1 <= int(size) <= MOST_UNITS for size in sizes):
                raise SpaceError(f"{self.name}={shortened(value)}: it takes {self.kind.value}, each from 1 to {MOST_UNITS}")
            if len(sizes) > MOST_LAYERS:
                raise SpaceError(f"{self.name}={shortened(value)}: it takes at most {MOST_LAYERS} layers, not {len(sizes)}")
        elif not isinstance(value, bool | None) and not self.low <= value <= self.high:
            raise SpaceError(f"{self.name}={value}: it lies between {self.low:.15g} and {self.high:.15g}")


def toml(value: Any) -> str:
    """A value as it stands in TOML, for a message: a text in quotes, a flag in small letters; a long one is cut."""
    return shortened(json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else value)


def _units(sizes: Value) -> int:
    return sum(int(size) for size in str(sizes).split(","))


def _is_of(kind: Kind, value: Value) -> bool:
    return isinstance(value, _TYPES[kind]) and isinstance(value, bool) == (kind is Kind.FLAG)
