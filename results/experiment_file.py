"""What `experiment.json` says that analysis needs: settings of a search, and ranges of what it drew."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.json_values import read_json
from common.texts import printable
from results.places import EXPERIMENT
from results.table_files import ResultsError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

FORMAT = 3


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

        A start may lie beyond both. An empty value stands for no limit, so it lies at 1. Of n choices the k-th lies at
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
    ranges: dict[str, Range] = {}
    for name, drawn in _of(_of(content, "marks", dict, {}), "ranges", dict, {}).items():
        try:
            ranges[name] = _range(name, drawn)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ResultsError(f"{path}: the space of {printable(name)} cannot be read: restore it from a copy") from error
    return Facts(settings, ranges)


def _of(content: Any, key: str, kind: type, default: Any) -> Any:
    """A value of a JSON object, or the default where there is none of that type."""
    value = content.get(key, default) if isinstance(content, dict) else default
    return value if type(value) is kind else default


def _range(name: str, drawn: Any) -> Range:
    """A range as `search_spaces.SearchSpace.ranges` writes it. Raises KeyError, TypeError or ValueError for anything else."""
    facts = dict(drawn)
    choices, only_if = tuple(map(text_of, facts.pop("choices", ()))), facts.pop("only_if", None)
    if not choices:
        facts["low"], facts["high"] = float(facts["low"]), float(facts["high"])
        if not -math.inf < facts["low"] <= facts["high"] < math.inf:
            raise ValueError("it has no ends")
    condition = (str(only_if[0]), tuple(map(text_of, only_if[1]))) if only_if else None
    return Range(name, choices=choices, only_if=condition, **facts)
