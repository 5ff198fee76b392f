"""What `experiment.json` says that analysis needs: settings of a search, and ranges by the description of its space."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from common.json_values import read_json
from common.texts import printable
from results.places import EXPERIMENT
from results.table_files import ResultsError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

FORMAT = 2
_SEARCHED = re.compile(r"searched as (\w+) in (?=\w+Distribution\()")
_DEFAULT = re.compile(r", by default ([^,]+)")
_LEAST = re.compile(r", at least (\d+)")
_ENOUGH = re.compile(r", steps are enough")
_SEARCHED_TO = re.compile(r", searched to ([\d.e+-]+) of steps")
_POWER, _ONE_MINUS, _PART = "log2_", "one_minus_", "_per_"


@dataclass(frozen=True)
class Range:
    """Where and how a hyperparameter was searched."""

    name: str
    low: float = math.nan  # least value that is drawn; NaN for choices
    high: float = math.nan  # greatest value that is drawn; NaN for choices
    log: bool = False  # whether numbers are drawn evenly on a log scale
    from_one: bool = False  # whether that scale is the one of 1 - value
    whole: bool = False  # whether only whole numbers are drawn
    powers: bool = False  # whether only powers of two are drawn
    choices: tuple[str, ...] = ()  # what is drawn where that is no range, as texts
    # Another hyperparameter, and its values as texts with which this one acts; None where it always acts.
    only_if: tuple[str, tuple[str, ...]] | None = None

    @property
    def values(self) -> int | None:
        """How many values can be told apart, on a log scale of whole numbers doublings; None for fractions."""
        if self.choices:
            return len(self.choices)
        if self.powers:
            return round(math.log2(self.high / self.low)) + 1
        if self.whole:
            count = int(self.high - self.low) + 1
            return math.ceil(math.log2(count)) + 1 if self.log else count
        return None

    def positions(self, column: pd.Series) -> np.ndarray:
        """Where values, shape (trials,), lie on the scale that is drawn from: 0 is the lower end, 1 the upper one.

        A start may lie beyond both. A number that is none has no limit, so it counts as 1. Of n choices the k-th lies at
        (k - 1) / (n - 1), and one that is not drawn at NaN.
        """
        import numpy as np
        import pandas as pd

        if self.choices:
            last = max(1, len(self.choices) - 1)
            places = {text: index / last for index, text in enumerate(self.choices)}
            return column.map(text_of).map(places).to_numpy(float)
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(float)
        ends = np.array([self.low, self.high])
        with np.errstate(divide="ignore", invalid="ignore"):
            inner, (first, last) = self._inner(numbers), self._inner(ends)
            along = (inner - first) / (last - first) if last != first else np.where(inner == first, 0.5, np.inf)
        return np.where(np.isnan(numbers), 1.0, along)

    def _inner(self, values: np.ndarray) -> np.ndarray:
        import numpy as np

        if self.from_one:
            return -np.log(1.0 - values) if self.log else values
        return np.log(values) if self.log else values


@dataclass(frozen=True)
class Facts:
    """What is known of a search beside its tables."""

    settings: Mapping[str, Any] = field(default_factory=dict)  # by name, as JSON values; empty without the file
    # Of the hyperparameters that were searched, by name; empty without the file.
    ranges: Mapping[str, Range] = field(default_factory=dict)


def text_of(value: Any) -> str:
    """A hyperparameter's value as a text: `none` for an empty one, `True` or `False` for a flag, else as Python writes it."""
    import pandas as pd

    if value is None or pd.isna(value):
        return "none"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def read_facts(folder: Path) -> Facts:
    """Facts of an experiment, empty without the file as in a judgement. Raises ResultsError if it cannot be read."""
    path = folder / EXPERIMENT
    try:
        content = read_json(path)
    except FileNotFoundError:
        return Facts()
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path} cannot be read ({printable(str(error))}): restore it from a copy") from error
    version, settings = _of(content, "format", int, 0), _of(content, "settings", dict, {})
    if version != FORMAT:
        raise ResultsError(
            f"{path} has format {version}, and this version of the package reads {FORMAT}: use the version that wrote it"
        )
    described = _of(_of(content, "marks", dict, {}), "space", dict, {})
    if settings.get("preset"):
        return Facts(settings)
    pairs = (str(pair).partition("=") for group in _of(settings, "set", list, []) for pair in group)
    fixed = {name: text for name, _, text in pairs}
    steps = _of(settings, "steps", int, 0)
    ranges: dict[str, Range] = {}
    for name, text in described.items():
        try:
            own = range_of(name, str(text), steps, ranges, fixed)
        except (KeyError, SyntaxError, TypeError, ValueError, OverflowError, RecursionError, MemoryError) as error:
            raise ResultsError(f"{path}: the space of {printable(name)} cannot be read: restore it from a copy") from error
        if own is not None:
            ranges[name] = own
        elif default := _DEFAULT.search(str(text)):
            fixed.setdefault(name, default[1])
    return Facts(settings, ranges)


def _of(content: Any, key: str, kind: type, default: Any) -> Any:
    """A value of a JSON object, or the default where there is none of that type."""
    value = content.get(key, default) if isinstance(content, dict) else default
    return value if type(value) is kind else default


def range_of(
    name: str, text: str, steps: int, before: Mapping[str, Range], fixed: Mapping[str, str] = MappingProxyType({})
) -> Range | None:
    """Range that the description of a hyperparameter tells, see `search_spaces.parameter.Parameter.describe`.

    Args:
        name: of the hyperparameter.
        text: its description. One that is none raises KeyError, SyntaxError, TypeError or ValueError.
        steps: most steps of a trial, which end some ranges; 0 where they are not known.
        before: ranges of the hyperparameters before it, of which it may be a part.
        fixed: values of those that were not searched, as texts; of one of these the range is None.
    """
    searched = _SEARCHED.search(text)
    if searched is None or name in fixed:
        return None
    kind, drawn, rest = *_call(text, searched.end()), text[searched.end() :]
    only_if = None
    if (place := rest.find("OnlyIf(")) >= 0:
        _, condition = _call(rest, place)
        only_if = (condition["name"], tuple(map(text_of, condition["values"])))
    if kind == "CategoricalDistribution":
        return Range(name, choices=tuple(map(text_of, drawn["choices"])), only_if=only_if)
    low, high, log, inner = float(drawn["low"]), float(drawn["high"]), bool(drawn["log"]), searched[1]
    if inner.startswith(_ONE_MINUS):
        return Range(name, 1.0 - high, 1.0 - low, log=log, from_one=True, only_if=only_if)
    if not inner.startswith(_POWER):
        return Range(name, low, high, log=log, whole=kind == "IntDistribution", only_if=only_if)
    if _PART in inner and inner != _POWER + name:
        of = inner.removeprefix(_POWER).partition(_PART)[0]
        lowest, highest = (before[of].low, before[of].high) if of in before else (float(fixed[of]),) * 2
        least = float(found[1]) if (found := _LEAST.search(rest)) else 1.0
        high = max(low, min(high, _last(rest, steps)))
        lowest, highest = (max(min(least, own), own / 2**halvings) for own, halvings in ((lowest, high), (highest, low)))
        return Range(name, lowest, highest, log=True, whole=True, powers=True, only_if=only_if)
    return Range(name, 2**low, 2 ** max(low, min(high, _last(rest, steps))), log=True, whole=True, powers=True, only_if=only_if)


def _last(rest: str, steps: int) -> float:
    """Greatest power of two that the length of a trial leaves, as an exponent."""
    last = math.inf
    if steps and (found := _SEARCHED_TO.search(rest)):
        last = math.floor(math.log2(max(1.0, float(found[1]) * steps)))
    if steps and (place := rest.find("AtMost(")) >= 0:
        _, condition = _call(rest, place)
        if condition["name"] == "steps":
            last = min(last, math.floor(math.log2(max(1.0, condition["part"] * steps))))
    if steps and _ENOUGH.search(rest):
        last = min(last, math.ceil(math.log2(steps)))
    return last


def _call(text: str, start: int) -> tuple[str, dict[str, Any]]:
    """Name and named values of a call such as `IntDistribution(high=5, low=1)` that begins at a place of a text."""
    depth, quote = 0, ""
    for place in range(start, len(text)):
        mark = text[place]
        if quote:
            quote = "" if mark == quote else quote
        elif mark in "'\"":
            quote = mark
        else:
            depth += (mark in "([") - (mark in ")]")
            if mark == ")" and depth == 0:
                break
    node = ast.parse(text[start : place + 1], mode="eval").body
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError("it is no call")
    return node.func.id, {str(own.arg): ast.literal_eval(own.value) for own in node.keywords}
