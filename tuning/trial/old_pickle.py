"""Reads the pickles of version 1 of checkpoints without calling anything of NumPy's that a file could abuse.

NumPy's own functions for pickles trust what they are given: a type with false flags makes them read at any address. So the
names that a trainer's state has stand here for objects of this module. These take nothing but sizes, plain types and bytes, and
make arrays of them once the file has been read.
"""

from __future__ import annotations

import math
import pickle
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import UserError

_PLAIN = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
_LARGEST_RECORD = 4096  # bytes
_MOST_VALUES = 2_000_000  # of a state; the largest have some thousand
_DEEPEST = 100  # levels of nesting

# What a file that is no such pickle leads to.
_FAULTS = (
    pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, KeyError, IndexError, OverflowError, MemoryError,
    RecursionError,
)  # fmt: skip


class OldCheckpointError(UserError):
    """A checkpoint of version 1 is refused; says which, why and what to do."""


def read_pickled(path: Path) -> dict[str, Any]:
    """The state of a trainer: nested dictionaries, lists and tuples of plain values and arrays.

    Args:
        path: of a `state.pickle`.

    Raises:
        OldCheckpointError: if the file holds or names anything else.
    """
    with path.open("rb") as file:
        try:
            state = _Plain().plain(_Unpickler(file).load(), 0)
        except _NameError as error:
            raise OldCheckpointError(
                f"{path} names {error}, which is no part of a trainer's state: it was refused and not called; do not trust the "
                "folder that it comes from"
            ) from None
        except _FAULTS as error:
            raise OldCheckpointError(f"{path} holds no state of a trainer ({error}): remove {path.parent}") from None
    if not isinstance(state, dict):
        raise OldCheckpointError(f"{path} holds no state of a trainer, but a {type(state).__name__}: remove {path.parent}")
    return state


class _NameError(Exception):
    """A pickle names something that it must not; says what."""


class _Function:
    """Stands for a function or a class that a pickle calls. A file can change nothing of it."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)

    def __setstate__(self, state: Any) -> None:
        raise ValueError("a function has no state")


class _Type:
    """Stands for a `numpy.dtype`."""

    __slots__ = ("_state", "_text")

    def __init__(self, text: Any, *_: Any) -> None:
        self._text, self._state = text, None

    def __setstate__(self, state: Any) -> None:
        self._state = state

    def resolve(self, depth: int = 0) -> np.dtype[Any]:
        """The type: a number, or a record of numbers and of arrays of them."""
        if depth > 3:
            raise ValueError("a type is nested too deeply")
        state = self._state or (3, "|", None, None, None, -1, -1, 0)
        _, order, sub, names, members, size = state[:6]
        if sub is not None:
            base, shape = sub
            found = np.dtype((_resolved(base, depth), _sizes(shape)))
        elif names is not None:
            formats = [_resolved(members[name][0], depth) for name in names]
            offsets = _sizes([members[name][1] for name in names])
            if not all(type(name) is str for name in names):
                raise ValueError("a record's name is no text")
            record = {"names": list(names), "formats": formats, "offsets": list(offsets), "itemsize": _sizes([size])[0]}
            found = np.dtype(record)
        elif self._text in _PLAIN and order in ("<", ">", "|", "="):
            found = np.dtype(order + self._text)
        else:
            raise ValueError("an array has a type that is no number")
        if found.itemsize > _LARGEST_RECORD:
            raise ValueError("a record is too large")
        return found


def _resolved(kind: Any, depth: int = -1) -> np.dtype[Any]:
    if type(kind) is not _Type:
        raise ValueError("an array has a type that is no number")
    return kind.resolve(depth + 1)


def _sizes(values: Any) -> tuple[int, ...]:
    """Whole numbers of an acceptable size."""
    sizes = tuple(values)
    if len(sizes) > 32 or not all(type(size) is int and 0 <= size < 2**40 for size in sizes):
        raise ValueError("a size is no acceptable number")
    return sizes


def _filled(content: Any, kind: Any, shape: Any, order: Any) -> np.ndarray:
    """An array of bytes, which have to be as many as it needs."""
    sizes, found = _sizes(shape), _resolved(kind)
    if not isinstance(content, bytes | bytearray) or len(content) != found.itemsize * math.prod(sizes):
        raise ValueError("an array has not the bytes that it needs")
    return np.frombuffer(bytes(content), found).reshape(sizes, order="F" if order == "F" else "C")


def _scalar(kind: Any, content: Any) -> Any:
    return _filled(content, kind, (), "C")[()]


class _Array:
    """Stands for an array that is filled later."""

    __slots__ = ("array",)

    def __init__(self, *_: Any) -> None:
        self.array: np.ndarray | None = None

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, is_fortran, content = state
        self.array = _filled(content, kind, shape, "F" if is_fortran else "C")


_NAMES: Mapping[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("numpy", "dtype"): _Function(_Type),
    ("numpy", "ndarray"): "ndarray",  # an argument of `_reconstruct`
    **{
        (f"numpy.{core}.{module}", name): _Function(function)
        for core in ("core", "_core")  # of NumPy 1 and 2
        for module, name, function in (
            ("multiarray", "_reconstruct", _Array),
            ("multiarray", "scalar", _scalar),
            ("numeric", "_frombuffer", _filled),
        )
    },
}


class _Unpickler(pickle.Unpickler):
    """Finds the names of a trainer's state, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        """See `pickle.Unpickler`."""
        if (module, name) not in _NAMES:
            raise _NameError(f"{module}.{name}")
        return _NAMES[module, name]


class _Plain:
    """Turns what was read into plain values and arrays."""

    def __init__(self) -> None:
        self._count = 0

    def plain(self, value: Any, depth: int) -> Any:
        """The value, with arrays for what stands for them."""
        self._count += 1
        # One object may be in many places, so that a small file has more values than memory.
        if self._count > _MOST_VALUES or depth > _DEEPEST:
            raise ValueError("it has too many values, or they are nested too deeply")
        if type(value) in (dict, OrderedDict):
            return {key: self.plain(each, depth + 1) for key, each in value.items()}
        if type(value) is list:
            return [self.plain(each, depth + 1) for each in value]
        if type(value) is tuple:
            return tuple(self.plain(each, depth + 1) for each in value)
        if type(value) is _Array and value.array is not None:
            return value.array
        if value is None or isinstance(value, bool | int | float | str | np.generic | np.ndarray):
            return value
        raise ValueError(f"a {type(value).__name__} in it is no plain value")
