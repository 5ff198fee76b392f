"""Conditions on the rows that are read of a table: their form, and what can be told of them without the table."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from common.texts import printable
from results.table_files import ResultsError

# A condition on a column: its name, one of == != < <= > >= in, not in, and a value or a list of values.
Filter = tuple[str, str, Any]

EXPERIMENT = "experiment"  # column that tells several experiments apart
# Whether a text passes.
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "in": lambda value, given: value in given, "not in": lambda value, given: value not in given,
}  # fmt: skip
_OF_LISTS = ("in", "not in")  # conditions with a list of values
_NAMING = ("=", "==", "in")  # conditions that name the values that pass


def empty_passes(conditions: Iterable[Filter]) -> bool:
    """Whether an empty cell meets conditions, as Arrow has it: only lists tell that it is among them, or is not."""
    return all(sign in _OF_LISTS and any(each is None for each in given) == (sign == "in") for _, sign, given in conditions)


def name_passes(name: str, conditions: Iterable[Filter]) -> bool:
    """Whether the name of an experiment meets conditions."""
    return all(_COMPARED[sign](name, given) for _, sign, given in conditions)


def checked_conditions(table: str, filters: Sequence[Filter] | None) -> list[Filter]:
    """Conditions in the form that Arrow takes: lists of values are lists, numbers of trials are Python's.

    Raises:
        ResultsError: if one has not the form of a condition.
    """
    if filters is None:
        return []
    if isinstance(filters, str | Mapping) or not isinstance(filters, Iterable):
        raise _malformed(table, filters, 'give a list such as [("trial", "in", [0, 3])]')
    return [_condition(table, each) for each in filters]


def _condition(table: str, given: object) -> Filter:
    if not isinstance(given, tuple | list) or len(given) != 3 or not isinstance(given[0], str):
        raise _malformed(table, given, 'give a list of conditions, each such as ("trial", "==", 3)')
    column, sign, value = given
    if not isinstance(sign, str) or sign not in _COMPARED:
        raise _malformed(table, given, f"conditions are {', '.join(_COMPARED)}")
    has_several = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    if has_several != (sign in _OF_LISTS):
        raise _malformed(table, given, f"{sign} takes {'a list of values' if sign in _OF_LISTS else 'one value'}")
    values: list[Any] = list(value) if has_several else [value]
    if column == EXPERIMENT and not all(isinstance(each, str) for each in values):
        raise _malformed(table, given, "names of experiments are texts")
    if column == "trial":
        if any(each is not None and (isinstance(each, bool) or not isinstance(each, Real)) for each in values):
            raise _malformed(table, given, "trials have numbers, such as 3")
        values = [each if each is None else int(each) if isinstance(each, Integral) else float(each) for each in values]
    return column, sign, values if has_several else values[0]


def _malformed(table: str, given: object, remedy: str) -> ResultsError:
    text = printable(repr(given))
    return ResultsError(f"filters of {table}: {text if len(text) <= 80 else text[:77] + '...'}: {remedy}")


def trials_wanted(filters: Sequence[Filter]) -> set[int] | None:
    """Trials that conditions let pass, where these name some; None where any trial may pass."""
    named = [set(own[2]) if own[1] in _OF_LISTS else {own[2]} for own in filters if own[0] == "trial" and own[1] in _NAMING]
    # What no column of 64 bits holds is refused once the table is filtered.
    return {own for own in set.intersection(*named) if own is None or abs(own) < 2**63} if named else None
