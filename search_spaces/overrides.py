"""A user's own bounds and choices, from a TOML file.

A table for each hyperparameter, in the values that it has outside (a `gamma`, not `1 - gamma`):

    [learning_rate]
    low = 1e-4
    high = 1e-3

    [hidden_sizes]
    choices = ["128,128", "256,256"]

    [n_epochs]
    value = 10
"""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from common.files import read_text
from search_spaces.parameter import Bounds, Kind, Parameter, Scale, SpaceError, toml
from search_spaces.space import SearchSpace

_KEYS = ({"low", "high"}, {"low", "high", "log"}, {"choices"}, {"value"})


def override(space: SearchSpace, path: Path) -> SearchSpace:
    """The space with the changes of a file. Raises a SpaceError with the file, the name and the value of a fault."""
    try:
        tables = tomllib.loads(read_text(path))
    except OSError as error:
        raise SpaceError(f"--space {path}: {error.strerror}; give the TOML file of your bounds and choices") from error
    # Also where a whole number has thousands of digits, or tables are nested too deeply.
    except (ValueError, RecursionError) as error:
        raise SpaceError(f"{path} is no TOML in UTF-8: {error}") from error
    try:
        changed = {name: _changed(space[name], table, str(path)) for name, table in tables.items()}
    # Python reads longer whole numbers in base 16 than it shows.
    except ValueError as error:
        raise SpaceError(f"{path}: {error}") from error
    return SearchSpace(tuple(changed.get(parameter.name, parameter) for parameter in space.parameters))


def _changed(parameter: Parameter, table: Any, source: str) -> Parameter:
    name = parameter.name
    if not isinstance(table, dict) or set(table) not in _KEYS:
        raise SpaceError(f"{name}: it takes low and high, choices, or value, as a table [{name}]")
    if "value" in table:
        value = table["value"]
        parameter.check(value)
        is_number = parameter.kind in (Kind.INTEGER, Kind.NUMBER)
        bounds = Bounds(source, low=value, high=value) if is_number else Bounds(source, choices=(value,))
        return replace(parameter, default=value, search=None, searched_from=None, own=bounds)
    if "choices" in table:
        search = _choices(parameter, table["choices"])
        return replace(parameter, search=search, own=Bounds(source, choices=tuple(table["choices"])), searched_from=None)
    bounds = Bounds(source, low=table["low"], high=table["high"])
    # Bounds are of the value, so it is drawn by itself: as a part of another value it could not keep them.
    by_itself: dict[str, Any] = {"part_of": None, "enough": "", "searched_to": None, "searched_from": None}
    return replace(parameter, search=_range(parameter, table), own=bounds, **by_itself)


def _choices(parameter: Parameter, choices: Any) -> BaseDistribution:
    if parameter.at_most or parameter.scale is not Scale.IDENTITY:
        why = "its range depends on other values" if parameter.at_most else f"it is searched as {parameter.inner_name}"
        raise SpaceError(f"{parameter.name}: it takes low and high, not choices, because {why}")
    if not isinstance(choices, list) or not choices:
        raise SpaceError(f"{parameter.name}: choices are a list with at least one value")
    for choice in choices:
        parameter.check(choice)
        if choices.count(choice) > 1:
            raise SpaceError(f"{parameter.name}={toml(choice)}: it stands several times in its choices; keep one")
    return CategoricalDistribution(choices)


def _range(parameter: Parameter, table: dict[str, Any]) -> BaseDistribution:
    name, low, high = parameter.name, table["low"], table["high"]
    if parameter.kind not in (Kind.INTEGER, Kind.NUMBER):
        raise SpaceError(f"{name}: it takes choices")
    for value in (low, high):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SpaceError(f"{name}={toml(value)}: a bound is a number")
        if parameter.kind is Kind.INTEGER and not isinstance(value, int):
            raise SpaceError(f"{name}={value}: it takes whole numbers")
        parameter.check(value)
    if low > high:
        raise SpaceError(f"{name}: low={low} is above high={high}")
    before = parameter.search
    log = table.get("log", bool(getattr(before, "log", False)))
    if not isinstance(log, bool):
        raise SpaceError(f"{name}: log is true or false")
    least, most = sorted(map(parameter.scale.inner, (low, high)))
    if parameter.scale is Scale.POWER_OF_TWO:
        if "log" in table:
            raise SpaceError(f"{name}: it is searched over powers of two, so log says nothing")
        if not (least.is_integer() and most.is_integer()):
            raise SpaceError(f"{name}: low={low} and high={high} have to be powers of two")
        return IntDistribution(int(least), int(most))
    if log and least <= 0:
        raise SpaceError(
            f"{name}: on a log scale its bounds cannot reach {high if parameter.scale is Scale.ONE_MINUS else low}"
        )
    return IntDistribution(low, high, log=log) if parameter.kind is Kind.INTEGER else FloatDistribution(least, most, log=log)
