"""JSON files that a dataclass describes: its annotations are the one description of keys and types."""

import json
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from common.files import read_text, write_whole

T = TypeVar("T")
MOST = 2**63 - 1  # whole numbers end up in columns of 64 bits
_WORDS = {
    str: "a text", int: "a whole number", float: "a number", bool: "true or false", Path: "a path", type(None): "null",
}  # fmt: skip


def read_json(path: Path) -> Any:
    """Content of a JSON file. Raises an OSError or a ValueError if there is none, or it has whole numbers beyond 64 bits."""
    return parsed(read_text(path), _whole)


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file, whole or not at all; see `write_whole`."""
    write_whole(path, json.dumps(content, indent=1).encode())


def parsed(text: str, whole: Callable[[str], int] = int) -> Any:
    """Content of a text in JSON, with its whole numbers. Raises a ValueError if it is none, or nested too deeply to be read."""
    try:
        return json.loads(text, parse_int=whole)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _whole(digits: str) -> int:
    # No float, and no column, takes one of hundreds of digits.
    if len(digits) > len(str(MOST)) + 1 or abs(number := int(digits)) > MOST:
        raise ValueError(f"it holds the whole number {digits[:20]}..., which has more than 64 bits")
    return number


def checked(value: Any, kind: Any, place: str) -> Any:
    """A JSON value as a value of a type; lists become tuples where the type says so.

    The type is str, int, float, bool, None, Path, a Literal, a union, `tuple[X, ...]`, `list[X]`, a mapping from str, or a
    dataclass. A ValueError, which names the `place` of the value, if it is of another one.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin is Literal:
        if type(value) is str and value in parts:
            return value
    elif origin in (Union, types.UnionType):
        # An int is a float too, so a type that fits exactly goes first.
        for part in sorted(parts, key=lambda part: type(value) is not part):
            try:
                return checked(value, part, place)
            except ValueError:
                continue
    elif origin in (tuple, list):
        if isinstance(value, list | tuple):
            return origin(checked(each, parts[0], f"{place}[{index}]") for index, each in enumerate(value))
    elif origin is not None and issubclass(origin, Mapping):
        if isinstance(value, dict):
            return {key: checked(each, parts[1], f"{place}.{key}") for key, each in value.items()}
    elif kind is Path:
        if isinstance(value, str | Path):
            return Path(value)
    elif is_dataclass(kind):
        return described(kind, value, place)  # type: ignore[arg-type]
    elif kind is float and type(value) is int and abs(value) <= MOST:
        return float(value)
    elif type(value) is kind:
        if kind is int and abs(value) > MOST:
            raise ValueError(f"{place} is {_shown(value)}, and has more than 64 bits")
        return value
    raise ValueError(f"{place} is {_shown(value)}, not {_words(kind)}")


def described(kind: type[T], values: Any, place: str, optional: frozenset[str] | None = None) -> T:
    """An instance of a dataclass, whose annotations are checked, from a JSON object at a `place`.

    `optional` fields may be missing, by default those with a default. A ValueError if it is no object, lacks a field, has
    another one, or a value has another type.
    """
    if not isinstance(values, dict):
        raise ValueError(f"{place} is {_shown(values)}, not an object")
    hints, entries = get_type_hints(kind), {entry.name: entry for entry in fields(kind)}  # type: ignore[arg-type]
    if optional is None:
        optional = frozenset(
            name for name, entry in entries.items() if entry.default is not MISSING or entry.default_factory is not MISSING
        )
    if unknown := sorted(values.keys() - entries.keys()):
        raise ValueError(f"{place} has the unknown key {_shown(unknown[0])}")
    if missing := [name for name in entries if name not in values and name not in optional]:
        raise ValueError(f"{place} lacks {missing[0]}")
    return kind(**{name: checked(value, hints[name], name) for name, value in values.items()})


def _words(kind: Any) -> str:
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return f"one of {', '.join(map(str, parts))}"
    if origin in (Union, types.UnionType):
        return " or ".join(map(_words, parts))
    if origin in (tuple, list):
        return f"a list, each {_words(parts[0])}"
    return _WORDS.get(kind, "an object")


def _shown(value: Any) -> str:
    """A value for a message, as JSON in ASCII, cut."""
    try:
        text = json.dumps(value, default=repr)
    except RecursionError:  # it was read with more room on the stack
        return "nested too deeply"
    return text if len(text) <= 40 else f"{text[:37]}..."
