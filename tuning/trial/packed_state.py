"""Nested plain values and arrays as data: JSON for the values, NPZ for the arrays. Reading them runs no code.

What JSON lacks is an object with one tag:

    {"dict": [[key, value], ...]}          a dictionary, in its order; keys are texts, numbers or None
    {"tuple": [...]}                       a tuple
    {"array": ["float32", 512, [64, 3]]}   192 elements from the 512th on of the NPZ file's "float32", in C's order
    {"scalar": ["float32", 0.5]}           a scalar of NumPy
    {"float": "nan"}                       a float that is not finite
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tuning.trial.array_files import Arrays, StateError

_AS_THEY_ARE = frozenset((bool, int, str))
_KEYS = frozenset((bool, int, float, str, type(None)))
_DIMENSIONS = 32  # of an array at most
_DEEPEST = 100  # levels of nesting; a trainer's state has about ten


def pack(state: object) -> tuple[Any, Arrays]:
    """Split nested values into what JSON takes and arrays.

    Args:
        state: None, booleans, numbers, texts, NumPy's scalars and arrays, and dictionaries, lists and tuples of these.

    Returns:
        Values that `json.dumps` takes, and the arrays, which `unpack` needs again.

    Raises:
        TypeError: for anything else.
    """
    arrays = Arrays()
    return _pack(state, arrays), arrays


def _pack(value: Any, arrays: Arrays) -> Any:
    # Types are compared exactly: NumPy's float64 is a float of Python too.
    kind = type(value)
    if value is None or kind in _AS_THEY_ARE:
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind is list:
        return [_pack(each, arrays) for each in value]
    if kind is tuple:
        return {"tuple": [_pack(each, arrays) for each in value]}
    if isinstance(value, dict):
        if not _KEYS.issuperset(map(type, value)):
            raise TypeError(f"a dictionary with keys of types {sorted({type(key).__name__ for key in value})} is not saved")
        return {"dict": [[key, _pack(each, arrays)] for key, each in value.items()]}
    if isinstance(value, np.generic) and value.dtype.name in _SCALARS:
        return {"scalar": [value.dtype.name, _pack(value.item(), arrays)]}
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return {"array": arrays.add(value)}
    raise TypeError(f"a value of type {kind.__module__}.{kind.__qualname__} is not saved")


def unpack(packed: object, arrays: Mapping[str, np.ndarray]) -> Any:
    """Nested values from what `pack` gave. Together they take as much memory as the arrays.

    Args:
        packed: values, from JSON.
        arrays: of the file, by the names of their types.

    Raises:
        StateError: if `packed` is nothing that `pack` gives, or an array is missing.
    """
    return _unpack(packed, _Once(arrays), "state", 0)


class _Once(Mapping[str, np.ndarray]):
    """Arrays, of which no more elements are taken than there are."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._arrays, self._taken = arrays, dict.fromkeys(arrays, 0)

    def __getitem__(self, name: str) -> np.ndarray:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def take(self, name: str, first: int, count: int, place: str) -> np.ndarray:
        """Copies of consecutive elements.

        Raises:
            StateError: if there are not so many, or others were taken in their place.
        """
        size = self._arrays[name].size
        self._taken[name] += count
        if first + count > size or self._taken[name] > size:
            raise StateError(f"{place} has elements {first} to {first + count} of {size} of {name}")
        return self._arrays[name][first : first + count].copy()  # one that may be written to


def _unpack(packed: Any, arrays: _Once, place: str, depth: int) -> Any:
    if packed is None or isinstance(packed, bool | int | float | str):
        return packed
    if depth > _DEEPEST:
        raise StateError(f"{place} is nested too deeply")
    if isinstance(packed, list):
        return [_unpack(each, arrays, f"{place}[{i}]", depth + 1) for i, each in enumerate(packed)]
    if isinstance(packed, dict) and len(packed) == 1:
        ((tag, content),) = packed.items()
        if tag in _TAGS:
            return _TAGS[tag](content, arrays, place, depth + 1)
    raise StateError(f"{place} is no value of a state")


def _dict(content: Any, arrays: _Once, place: str, depth: int) -> dict[Any, Any]:
    if not isinstance(content, list) or not all(_is_pair(each) for each in content):
        raise StateError(f"{place} is no list of keys and values")
    return {key: _unpack(value, arrays, f"{place}.{key}", depth) for key, value in content}


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and (value[0] is None or isinstance(value[0], bool | int | float | str))


def _tuple(content: Any, arrays: _Once, place: str, depth: int) -> tuple[Any, ...]:
    if not isinstance(content, list):
        raise StateError(f"{place} is no list of a tuple's values")
    return tuple(_unpack(content, arrays, place, depth))


def _array(content: Any, arrays: _Once, place: str, depth: int) -> np.ndarray:
    if not isinstance(content, list) or len(content) != 3:
        raise StateError(f"{place} is no place of an array")
    name, first, shape = content
    if not isinstance(name, str) or name not in arrays or not isinstance(shape, list):
        raise StateError(f"{place} is no place of an array")
    numbers = (first, *shape)
    # Small ones, as the product of great ones takes minutes.
    if len(numbers) > _DIMENSIONS or not all(type(number) is int and 0 <= number < 2**48 for number in numbers):
        raise StateError(f"{place} is no place of an array")
    return arrays.take(name, first, math.prod(shape), place).reshape(shape)


def _scalar(content: Any, arrays: _Once, place: str, depth: int) -> Any:
    if isinstance(content, list) and len(content) == 2 and isinstance(content[0], str) and content[0] in _SCALARS:
        value = _unpack(content[1], arrays, place, depth)
        if isinstance(value, bool | int | float):
            try:
                return _SCALARS[content[0]](value)
            except (ValueError, OverflowError) as error:
                raise StateError(f"{place}: {error}") from None
    raise StateError(f"{place} is no scalar with its type")


def _float(content: Any, arrays: _Once, place: str, depth: int) -> float:
    if content not in ("nan", "inf", "-inf"):
        raise StateError(f"{place} is no float")
    return float(content)


_TAGS: dict[str, Callable[[Any, _Once, str, int], Any]] = {
    "dict": _dict, "tuple": _tuple, "array": _array, "scalar": _scalar, "float": _float,
}  # fmt: skip
_SCALARS: dict[str, Callable[[Any], Any]] = {
    name: getattr(np, name)
    for name in (
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    )
} | {"bool": np.bool_}  # fmt: skip


def check_fits(state: object, own: object) -> None:
    """See that a state has the structure of another one of the same object, as far as that has one yet.

    Empty containers and None in `own` stand for what is not known yet; a dictionary may have further keys.

    Args:
        state: nested values.
        own: state of the object that `state` is meant for.

    Raises:
        StateError: by the first place that differs.
    """
    _check_fits(state, own, "state")


def _check_fits(state: Any, own: Any, place: str) -> None:
    if state is None or own is None:
        return
    if isinstance(own, np.ndarray):
        if not isinstance(state, np.ndarray) or state.dtype != own.dtype or state.shape != own.shape:
            raise StateError(f"{place} is {_shape(state)} where {_shape(own)} is needed")
    elif isinstance(own, dict):
        if not isinstance(state, dict) or (own and not own.keys() <= state.keys()):
            raise StateError(f"{place} lacks {', '.join(_missing(state, own))}")
        for key, value in own.items():
            _check_fits(state[key], value, f"{place}.{key}")
    elif isinstance(own, list | tuple):
        if type(state) is not type(own):
            raise StateError(f"{place} is {_shape(state)} where {_shape(own)} is needed")
        for i, (value, others) in enumerate(zip(state, own, strict=False)):
            _check_fits(value, others, f"{place}[{i}]")
    elif isinstance(own, str) is not isinstance(state, str) or isinstance(state, list | tuple | dict | np.ndarray):
        raise StateError(f"{place} is {_shape(state)} where {_shape(own)} is needed")


def _missing(state: Any, own: dict[Any, Any]) -> list[str]:
    return [str(key) for key in own if not isinstance(state, dict) or key not in state] or ["its values"]


def _shape(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype.name}, shape {value.shape}"
    return f"a {type(value).__name__}"
