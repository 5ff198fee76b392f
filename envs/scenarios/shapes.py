"""JSON files read strictly, and shapes of their values: what may stand at a place, as data, and the faults of what does."""

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import ScenarioError
from common.files import read_text
from common.texts import counted, hint, printable

Place = tuple[str, ...]
MOST = 100  # lines of a message; a site that has more faults is another file by mistake
COMMENTS = ("_", "comment", "description", "notes")  # beginnings of names that carry text for people
remedy = partial(hint, otherwise="remove it")  # for an unknown name
_LONGEST = 60  # characters of a value that a message shows


class Faults:
    """Lines that each name one fault by file, place, value and remedy, so that a user sees all of them at once."""

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}  # without repetitions, in order
        self._files: dict[str, dict[Path, None]] = {}  # files that have a fault, likewise, by what is wrong

    def __len__(self) -> int:
        return len(self._lines) + sum(map(len, self._files.values()))

    def add(self, *lines: str) -> None:
        """Add faults. Characters that cannot be printed, such as a line break in a name, are shown as escapes."""
        self._lines |= dict.fromkeys(map(printable, lines))

    def add_in(self, file: Path, fault: str) -> None:
        """Add a fault of a file; those that are word by word the same in several files become one line."""
        self._files.setdefault(printable(fault), {})[file] = None

    @property
    def lines(self) -> list[str]:
        """All faults."""
        of_files = (
            printable(f"{first}, {fault}" + (f"; likewise in {', '.join(file.name for file in others)}" if others else ""))
            for fault, (first, *others) in self._files.items()
        )
        return [*self._lines, *of_files]

    def refuse(self) -> None:
        """Raise a `ScenarioError` with at most `MOST` faults and how many more there are; do nothing where there is none."""
        if lines := self.lines:
            more = len(lines) - MOST
            rest = [f"and {more} more"] if more > 0 else []
            raise ScenarioError(*lines[:MOST], *rest)


@dataclass(frozen=True)
class Fault:
    """What is wrong at a place."""

    place: Place  # names from the top of the file
    text: str  # what stands there and what should
    form: bool = True  # whether the value is of a wrong type or missing; otherwise it is unknown, or beyond its limits

    def __str__(self) -> str:
        return f"{dotted(self.place)} {self.text}"


@dataclass(frozen=True)
class Shape:
    """What may stand at a place; this one is any value, because nothing that runs here reads it."""

    null: bool = field(default=True, kw_only=True)

    def faults(self, value: Any, place: Place) -> Iterator[Fault]:
        """Faults of a value that is there; None stands for null, and for a missing one."""
        if value is not None or not self.null:
            yield from self._faults(value, place)

    def _faults(self, value: Any, place: Place) -> Iterator[Fault]:
        yield from ()


@dataclass(frozen=True)
class Checked(Shape):
    """A value that fulfils a condition; `words` say what it has to be."""

    words: str
    holds: Callable[[Any], bool]

    def _faults(self, value: Any, place: Place) -> Iterator[Fault]:
        if not self.holds(value):
            yield _wrong(value, place, self.words)


# CityLearn takes 1 and 0 too.
FLAG = Checked("true or false", lambda value: isinstance(value, bool) or value in (0, 1))


def text(words: str = "a text in quotes", null: bool = True) -> Checked:
    """A text that is not empty."""
    return Checked(words, lambda value: isinstance(value, str) and bool(value.strip()) and "\0" not in value, null=null)


def choice(*choices: str, null: bool = True) -> Checked:
    """One of a few texts."""
    return Checked(_one_of(choices), choices.__contains__, null=null)


def dotted_class(known: Collection[str], null: bool = True) -> Checked:
    """Dotted path of a class. Of CityLearn's own, one of those that fit the place."""

    def holds(value: Any) -> bool:
        is_path = isinstance(value, str) and "." in value and all(part.isidentifier() for part in value.split("."))
        return is_path and not (value.startswith("citylearn.") and value.rpartition(".")[2] not in known)

    return Checked(f"the dotted path of a class, ending in {_one_of(known)}", holds, null=null)


@dataclass(frozen=True)
class Limit(Shape):
    """A number within bounds; true is none."""

    low: float  # least value
    high: float  # greatest value
    why: str  # reason, as the second half of a message
    whole: bool = False  # whether only whole numbers are allowed
    above: bool = False  # whether the least value itself is too small

    @property
    def words(self) -> str:
        """What a value has to be."""
        if self.low == self.high:
            return f"{self.low:.10g}"
        kind = "a whole number" if self.whole else "a number"
        bounds = f"above {self.low:,.10g} and at most" if self.above else f"from {self.low:,.10g} to"
        return f"{kind} {bounds} {self.high:,.10g}"

    def holds(self, values: np.ndarray | float) -> np.ndarray:
        """Whether values lie within; False for NaN."""
        array = np.asarray(values, dtype=np.float64)
        inside = (array > self.low if self.above else array >= self.low) & (array <= self.high)
        return inside & (array == np.floor(array)) if self.whole else inside

    def _faults(self, value: Any, place: Place) -> Iterator[Fault]:
        # A row that is written as 5.0 is none for CityLearn.
        number = is_number(value) and (isinstance(value, int) or not self.whole)
        if not number or not math.isfinite(_float(value)) or not self.holds(_float(value)):
            yield Fault(place, f"is {_missing(value)}; it has to be {self.words} ({self.why})", form=not number)


@dataclass(frozen=True)
class Curve(Shape):
    """Pairs of x, from 0 to 1 and rising, and y within a limit, also where the line is drawn on to 0 and to 1."""

    limit: Limit
    least: int = 2  # points

    def _faults(self, value: Any, place: Place) -> Iterator[Fault]:
        if not isinstance(value, list) or not all(map(_is_pair, value)):
            yield _wrong(value, place, "a list of pairs of numbers, such as [[0.0, 0.9], [1.0, 0.95]]")
            return
        if len(value) < self.least:
            yield Fault(place, f"has {counted(len(value), 'point')}; it needs {self.least} or more")
            return
        xs, ys = [float(x) for x, _ in value], [float(y) for _, y in value]
        if not all(0.0 <= x <= 1.0 for x in xs) or any(b <= a for a, b in pairwise(xs)):
            yield Fault(place, f"has the x {_numbers(xs)}; they have to rise from 0 to 1", form=False)
        elif not all(map(self.limit.holds, ys)):
            yield Fault(place, f"has the y {_numbers(ys)}; each has to be {self.limit.words} ({self.limit.why})", form=False)
        elif len(xs) > 1 and not all(map(self.limit.holds, (_drawn_on(xs, ys, 0.0), _drawn_on(xs, ys, 1.0)))):
            end = 0.0 if not self.limit.holds(_drawn_on(xs, ys, 0.0)) else 1.0
            what = f"gives {_drawn_on(xs, ys, end):.6g} at {end:.0f}, where CityLearn draws it on; add a point there"
            yield Fault(place, f"{what}, {self.limit.words}", form=False)


@dataclass(frozen=True)
class Each(Shape):
    """A list, or an object of which the user chooses the names."""

    item: Shape  # shape of each value
    words: str  # what there should be
    kind: type[dict[str, Any]] | type[list[Any]] = dict  # `dict` or `list`
    least: int = 0  # how many there have to be
    left_out: bool = False  # whether an entry with `include` false is not looked at

    def _faults(self, value: Any, place: Place) -> Iterator[Fault]:
        words = f"{'a list of' if self.kind is list else 'an object with'} {self.words}"
        if not isinstance(value, self.kind):
            yield _wrong(value, place, words)
            return
        if len(value) < self.least:
            yield Fault(place, f"is empty; it has to be {words}")
        for name, entry in value.items() if isinstance(value, dict) else enumerate(value):
            if not (self.left_out and isinstance(entry, dict) and is_left_out(entry)):
                yield from self.item.faults(entry, (*place, str(name)))


@dataclass(frozen=True)
class Record(Shape):
    """An object with known names."""

    # shape of each name's value; several names of one shape may stand in one text, separated by spaces
    names: Mapping[str, Shape]
    needed: Collection[str] = ()  # names that have to be there
    idle: Collection[str] = ()  # names that data sets carry and that have no effect
    unknown: str = "is unknown to CityLearn, which would ignore it or stop"  # what is wrong with another name
    older: Mapping[str, str] = field(default_factory=dict)  # names of older versions, and what to do about each

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", {name: shape for names, shape in self.names.items() for name in names.split()})

    def _faults(self, value: Any, place: Place) -> Iterator[Fault]:
        if not isinstance(value, dict):
            yield _wrong(value, place, "an object in braces")
            return
        for name in self.needed:
            if value.get(name) is None:
                yield from replace(self.names[name], null=False).faults(None, (*place, name))
        for name, entry in value.items():
            if name in self.names:
                if entry is not None or name not in self.needed:
                    yield from self.names[name].faults(entry, (*place, name))
            elif name not in self.idle and not name.startswith(COMMENTS):
                yield Fault((*place, name), f"{self.unknown}; {self.older.get(name) or remedy(name, self.names)}", form=False)


@dataclass(frozen=True)
class ByClass(Shape):
    """An object that names a class, on which its attributes depend."""

    classes: Mapping[str, Record]  # shape of `attributes` by the class's name
    rest: Mapping[str, Shape] = field(default_factory=dict)  # shapes of the other names
    needed: Collection[str] = ()  # names that have to be there
    idle: Collection[str] = ()  # names that data sets carry and that have no effect
    default: str | None = None  # class of an object that names none; empty where it has to
    needed_attributes: Collection[str] = ()  # attributes that have to be there unless the device is sized by CityLearn

    def _faults(self, value: Any, place: Place) -> Iterator[Fault]:
        if not isinstance(value, dict):
            yield _wrong(value, place, "an object in braces")
            return
        kind = self.default if value.get("type") is None else value["type"]
        wrong = list(dotted_class(self.classes, null=False).faults(kind, (*place, "type")))
        yield from wrong
        # A class of the user's may have any attributes.
        attributes = Shape() if wrong else self.classes.get(str(kind).rpartition(".")[2], Each(Shape(), "attributes"))
        if isinstance(attributes, Record) and self.needed_attributes and value.get("autosize") not in (True, 1):
            attributes = replace(attributes, needed=self.needed_attributes)
            if value.get("attributes") is None:
                value = {**value, "attributes": {}}
        names = {"type": Shape(), **self.rest, "attributes": attributes}
        yield from Record(names, self.needed, self.idle).faults(value, place)


def is_left_out(entry: Mapping[str, Any]) -> bool:
    """Whether a building or vehicle has `include` false. CityLearn includes it where `include` is null."""
    return entry.get("include", True) in (False, 0)


def included(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Buildings of a schema that are simulated, by name and in its order."""
    return {name: building for name, building in schema["buildings"].items() if not is_left_out(building)}


def dotted(place: Place) -> str:
    """A place as a message shows it: `buildings.Home_1.pv`; names with other characters stand in quotes."""
    return ".".join(
        shortened(name) if name.replace("-", "_").isidentifier() or name.isdigit() else f"'{shortened(name)}'" for name in place
    )


def shown(value: Any) -> str:
    """A value of a JSON file as a message shows it: as it stands there, texts in quotes, shortened where it is long."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return shortened(f"'{value}'" if isinstance(value, str) else json.dumps(value))


def shortened(text: str) -> str:
    """A text of at most 60 characters, with dots at the end of a longer one."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _wrong(value: Any, place: Place, words: str) -> Fault:
    return Fault(place, f"is {_missing(value)}; it has to be {words}")


def _missing(value: Any) -> str:
    return "missing" if value is None else shown(value)


def _one_of(choices: Collection[str]) -> str:
    *most, last = choices
    return f"{', '.join(most)} or {last}" if most else last


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, list) and len(entry) == 2 and all(is_number(n) and math.isfinite(_float(n)) for n in entry)


def is_number(value: Any) -> bool:
    """Whether a value of a JSON file is a number; true is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


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


DEEPEST = 40  # levels; CityLearn copies a schema level by level, and the deepest that is of use has nine


def read_object(path: Path) -> dict[str, Any]:
    """Object that a JSON file holds, read strictly: what a user did not mean is refused. A byte-order mark is skipped.

    A `ScenarioError` for what is no JSON object, a name that stands twice, numbers that are not finite, texts that are no
    Unicode, too many levels, and more than `common.files.MOST_TEXT` bytes.
    """
    try:
        content = json.loads(
            read_text(path), object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite, parse_int=_whole
        )
    except OSError as error:
        raise ScenarioError(f"{path} cannot be read: {error.strerror}; name a JSON file that you may read") from error
    except RecursionError as error:
        raise ScenarioError(_too_deep(path)) from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path} is not in UTF-8; save it in that encoding") from error
    except ValueError as error:
        what = "is empty" if not path.stat().st_size else f"is not JSON: {printable(str(error))}"
        raise ScenarioError(f"{path} {what}; correct it") from error
    if not isinstance(content, dict):
        raise ScenarioError(f"{path} holds {shown(content)}; it has to hold an object in braces")
    _check_levels(path, content)
    return content


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"the name '{twice}' stands twice in one object, and only one of them would be read")
    return entries


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{shortened(text)} is no finite number")
    return value


def _whole(text: str) -> int:
    if len(text) > 100:
        raise ValueError(f"a number has {len(text)} digits")
    return int(text)


def _check_levels(path: Path, entry: Any, level: int = 0) -> None:
    if level == DEEPEST:
        raise ScenarioError(_too_deep(path))
    for text in entry if isinstance(entry, dict) else [entry]:
        try:
            _ = isinstance(text, str) and text.encode()
        except UnicodeEncodeError as error:
            raise ScenarioError(f"{path}: the text '{printable(text)}' is no Unicode; write it anew") from error
    for inner in entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ():
        _check_levels(path, inner, level + 1)


def _too_deep(path: Path) -> str:
    return f"{path} has more than {DEEPEST} levels of brackets, which no schema needs; remove some"
