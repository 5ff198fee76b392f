"""Shapes of JSON values: what may stand at a place, as data, and the faults of what does."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Protocol

from envs.scenarios.faults import shortened, shown
from envs.scenarios.limits import Limit

Place = tuple[str, ...]
COMMENTS = ("_", "comment", "description", "notes")  # beginnings of names that carry text for people


@dataclass(frozen=True)
class Fault:
    """What is wrong at a place.

    Attributes:
        place: names from the top of the file.
        text: what stands there and what should.
        form: whether the value is of a wrong type, missing or unknown; otherwise it is a number beyond its limits.
    """

    place: Place
    text: str
    form: bool = True

    def __str__(self) -> str:
        return f"{dotted(self.place)} {self.text}"


class Shape(Protocol):
    """What may stand at a place."""

    def faults(self, value: Any, place: Place) -> Iterator[Fault]:
        """Faults of a value that is there; None stands for null."""


@dataclass(frozen=True)
class Anything:
    """Any value: nothing that runs here reads it."""

    def faults(self, value: Any, place: Place) -> Iterator[Fault]:
        """None at all."""
        yield from ()


@dataclass(frozen=True)
class Flag:
    """True or false; CityLearn takes 1 and 0 too."""

    null: bool = True

    def faults(self, value: Any, place: Place) -> Iterator[Fault]:
        """A value that is neither."""
        if not (value is None and self.null) and not isinstance(value, bool) and value not in (0, 1):
            yield _wrong(value, place, "true or false")


@dataclass(frozen=True)
class Number:
    """A number within limits; true is none."""

    limit: Limit
    null: bool = True

    def faults(self, value: Any, place: Place) -> Iterator[Fault]:
        """A value that is no number or lies beyond the limits."""
        if value is None and self.null:
            return
        # A row that is written as 5.0 is none for CityLearn.
        number = isinstance(value, int if self.limit.whole else int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(_float(value)) or not self.limit.holds(_float(value)):
            yield Fault(place, f"is {_missing(value)}; it has to be {self.limit.words} ({self.limit.why})", form=not number)


@dataclass(frozen=True)
class Text:
    """A text that is not empty, or one of a few."""

    words: str = "a text in quotes"
    choices: tuple[str, ...] = ()
    null: bool = True

    def faults(self, value: Any, place: Place) -> Iterator[Fault]:
        """A value that is no text, or no choice."""
        if value is None and self.null:
            return
        if not isinstance(value, str) or not value.strip() or "\0" in value:
            yield _wrong(value, place, self.words if not self.choices else _one_of(self.choices))
        elif self.choices and value not in self.choices:
            yield _wrong(value, place, _one_of(self.choices))


@dataclass(frozen=True)
class Checked:
    """A value that fulfils a condition, or null.

    Attributes:
        words: what it has to be.
        holds: the condition.
    """

    words: str
    holds: Callable[[Any], bool]

    def faults(self, value: Any, place: Place) -> Iterator[Fault]:
        """A value that does not."""
        if value is not None and not self.holds(value):
            yield _wrong(value, place, self.words)


@dataclass(frozen=True)
class Listing:
    """A list of values of one shape."""

    item: Shape
    words: str
    null: bool = True

    def faults(self, value: Any, place: Place) -> Iterator[Fault]:
        """A value that is no list, and the faults of its items."""
        if value is None and self.null:
            return
        if not isinstance(value, list):
            yield _wrong(value, place, f"a list of {self.words}")
            return
        for i, entry in enumerate(value):
            yield from self.item.faults(entry, (*place, str(i)))


@dataclass(frozen=True)
class Curve:
    """Pairs of x, from 0 to 1 and rising, and y within limits, also where the line is drawn on to 0 and to 1.

    Attributes:
        limit: of y.
        least: points.
    """

    limit: Limit
    least: int = 2

    def faults(self, value: Any, place: Place) -> Iterator[Fault]:
        """A value that is no such curve."""
        if value is None:
            return
        if not isinstance(value, list) or not all(map(_is_pair, value)):
            yield _wrong(value, place, "a list of pairs of numbers, such as [[0.0, 0.9], [1.0, 0.95]]")
            return
        if len(value) < self.least:
            yield Fault(place, f"has {len(value)} points; it needs {self.least} or more")
            return
        xs, ys = [float(x) for x, _ in value], [float(y) for _, y in value]
        if not all(0.0 <= x <= 1.0 for x in xs) or any(b <= a for a, b in pairwise(xs)):
            yield Fault(place, f"has the x {_numbers(xs)}; they have to rise from 0 to 1", form=False)
        elif not all(map(self.limit.holds, ys)):
            yield Fault(place, f"has the y {_numbers(ys)}; each has to be {self.limit.words} ({self.limit.why})", form=False)
        elif len(xs) > 1 and not all(map(self.limit.holds, (_drawn_on(xs, ys, 0.0), _drawn_on(xs, ys, 1.0)))):
            end = 0.0 if not self.limit.holds(_drawn_on(xs, ys, 0.0)) else 1.0
            text = f"gives {_drawn_on(xs, ys, end):.6g} at {end:.0f}, where CityLearn draws it on; add a point there"
            yield Fault(place, f"{text}, {self.limit.words}", form=False)


@dataclass(frozen=True)
class Record:
    """An object with known names.

    Attributes:
        names: shape of each name's value.
        needed: names that have to be there.
        idle: names that data sets carry and that have no effect.
        null: whether null may stand for it.
        unknown: what is wrong with another name.
    """

    names: Mapping[str, Shape]
    needed: Collection[str] = ()
    idle: Collection[str] = ()
    null: bool = True
    unknown: str = "is unknown to CityLearn, which would ignore it or stop"

    def faults(self, value: Any, place: Place) -> Iterator[Fault]:
        """A value that is no object, missing and unknown names, and the faults of their values."""
        if value is None and self.null:
            return
        if not isinstance(value, dict):
            yield _wrong(value, place, "an object in braces")
            return
        for name in self.needed:
            if value.get(name) is None:
                yield from _missing_name(self.names[name], (*place, name))
        for name, entry in value.items():
            if name in self.names:
                if entry is not None or name not in self.needed:
                    yield from self.names[name].faults(entry, (*place, name))
            elif name not in self.idle and not name.startswith(COMMENTS):
                yield Fault((*place, name), f"{self.unknown}; {hint(name, self.names)}")


@dataclass(frozen=True)
class Named:
    """An object of which the user chooses the names.

    Attributes:
        item: shape of each value.
        words: what there should be.
        least: how many there have to be.
        left_out: whether an entry with `include` false is not looked at.
        null: whether null may stand for it.
    """

    item: Shape
    words: str
    least: int = 0
    left_out: bool = False
    null: bool = True

    def faults(self, value: Any, place: Place) -> Iterator[Fault]:
        """A value that is no object, and the faults of its values."""
        if value is None and self.null:
            return
        if not isinstance(value, dict):
            yield _wrong(value, place, f"an object with {self.words}")
            return
        if len(value) < self.least:
            yield Fault(place, f"is empty; it has to be an object with {self.words}")
        for name, entry in value.items():
            if not (self.left_out and isinstance(entry, dict) and is_left_out(entry)):
                yield from self.item.faults(entry, (*place, name))


@dataclass(frozen=True)
class ByClass:
    """An object that names a class, on which its attributes depend.

    Attributes:
        classes: shape of `attributes` by the class's name.
        rest: shapes of the other names.
        needed: names that have to be there.
        idle: names that data sets carry and that have no effect.
        default: class of an object that names none; empty where it has to.
        needed_attributes: attributes that have to be there unless the device is sized by CityLearn.
    """

    classes: Mapping[str, Record]
    rest: Mapping[str, Shape] = field(default_factory=dict)
    needed: Collection[str] = ()
    idle: Collection[str] = ()
    default: str = ""
    needed_attributes: Collection[str] = ()
    null: bool = True

    def faults(self, value: Any, place: Place) -> Iterator[Fault]:
        """The faults of the class's name, of the attributes and of the rest."""
        if value is None and self.null:
            return
        if not isinstance(value, dict):
            yield _wrong(value, place, "an object in braces")
            return
        kind = value.get("type")
        if kind is None and self.default:
            kind = self.default
        found = list(DottedClass(self.classes).faults(kind, (*place, "type")))
        yield from found
        attributes: Shape = Anything()
        if not found:
            attributes = self.classes.get(str(kind).rpartition(".")[2], Named(Anything(), "attributes"))
        if isinstance(attributes, Record) and self.needed_attributes:
            sized = value.get("autosize") in (True, 1)
            needed = () if sized else self.needed_attributes
            attributes = Record(attributes.names, needed, attributes.idle, null=not needed)
            if needed and value.get("attributes") is None:
                yield from attributes.faults({}, (*place, "attributes"))
                attributes = Anything()
        names: dict[str, Shape] = {"type": Anything(), **self.rest, "attributes": attributes}
        yield from Record(names, self.needed, self.idle).faults(value, place)


@dataclass(frozen=True)
class DottedClass:
    """Dotted path of a class. Of CityLearn's own, one of those that fit the place."""

    known: Collection[str]

    def faults(self, value: Any, place: Place) -> Iterator[Fault]:
        """A value that is no dotted path, or a class of CityLearn that does not fit."""
        is_path = isinstance(value, str) and "." in value and all(part.isidentifier() for part in value.split("."))
        if not is_path or (value.startswith("citylearn.") and value.rpartition(".")[2] not in self.known):
            yield _wrong(value, place, f"the dotted path of a class, ending in {_one_of(self.known)}")


def is_left_out(entry: Mapping[str, Any]) -> bool:
    """Whether a building or vehicle has `include` false. CityLearn includes it where `include` is null."""
    return entry.get("include", True) in (False, 0)


def dotted(place: Place) -> str:
    """A place as a message shows it: `buildings.Home_1.pv`; names with other characters stand in quotes."""
    return ".".join(
        shortened(name) if name.replace("-", "_").isidentifier() or name.isdigit() else f"'{shortened(name)}'" for name in place
    )


def _wrong(value: Any, place: Place, words: str) -> Fault:
    return Fault(place, f"is {_missing(value)}; it has to be {words}")


def _missing(value: Any) -> str:
    return "missing" if value is None else shown(value)


def _missing_name(shape: Shape, place: Place) -> Iterator[Fault]:
    if isinstance(shape, Record | Named | ByClass):
        yield _wrong(None, place, "an object in braces")
    elif isinstance(shape, Number | Text | Flag | Listing):
        yield from replace(shape, null=False).faults(None, place)
    else:
        yield from shape.faults(None, place)


def _one_of(choices: Collection[str]) -> str:
    *most, last = choices
    return f"{', '.join(most)} or {last}" if most else last


def hint(name: str, known: Collection[str]) -> str:
    """What to do about an unknown name."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]}?" if near else "remove it"


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, list) and len(entry) == 2 and all(isinstance(n, int | float) and _is_number(n) for n in entry)


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and math.isfinite(_float(value))


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return math.inf


def _numbers(values: list[float]) -> str:
    return ", ".join(f"{value:.6g}" for value in values[:6]) + (", ..." if len(values) > 6 else "")


def _drawn_on(xs: list[float], ys: list[float], x: float) -> float:
    """Value of the line through the two outermost points on the side of x; the value at a point that is there."""
    if x in (xs[0], xs[-1]):
        return ys[0] if x == xs[0] else ys[-1]
    i = 0 if x < xs[0] else len(xs) - 2
    return ys[i] + (x - xs[i]) * (ys[i + 1] - ys[i]) / (xs[i + 1] - xs[i])
