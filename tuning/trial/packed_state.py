"""Nested plain values and arrays as data: JSON for the values, NPZ for the arrays. Reading them runs no code.

What JSON lacks is an object with one tag:

    {"dict": [[key, value], ...]}     a dictionary, in its order; keys are texts, numbers or None
    {"tuple": [...]}                  a tuple
    {"array": "a17"}                  an array, by its name in the NPZ file
    {"scalar": ["float32", 0.5]}      a scalar of NumPy
    {"float": "nan"}                  a float that is not finite
"""

import math
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from common.files import write_whole

_AS_THEY_ARE = frozenset((bool, int, str))
_KEYS = frozenset((bool, int, float, str, type(None)))
_SCALARS = {
    name: np.dtype(name).type
    for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    )
}  # fmt: skip
# What NumPy raises for a file that is no NPZ, or holds objects.
_UNREADABLE = (
    zipfile.BadZipFile, zlib.error, struct.error, ValueError, TypeError, KeyError, EOFError, RuntimeError, OverflowError,
    MemoryError,
)  # fmt: skip


class StateError(ValueError):
    """A file holds no arrays; the message names it."""


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays by their names into an NPZ file, whole or not at all; TypeError for one of Python objects."""
    if any(array.dtype.hasobject for array in arrays.values()):
        raise TypeError(f"of {sorted(arrays)}, some hold Python objects, which are not saved")
    write_whole(path, lambda file: np.savez(file, **arrays))  # type: ignore[arg-type]


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Arrays of an NPZ file by name, without unpickling anything; StateError, with its name, if it is no such file."""
    try:
        with path.open("rb") as raw, np.lib.npyio.NpzFile(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except _UNREADABLE as error:
        raise StateError(f"{path} holds no arrays: {error}") from None
    # NumPy gives the bytes of entries that are none.
    if any(not isinstance(array, np.ndarray) for array in arrays.values()):
        raise StateError(f"{path} holds no arrays alone")
    return arrays


def pack(state: object) -> tuple[Any, dict[str, np.ndarray]]:
    """Split nested plain values and arrays into what `json.dumps` takes, and arrays by name, which `unpack` needs again.

    Raises a TypeError for values that are no data.
    """
    arrays: dict[str, np.ndarray] = {}
    return _pack(state, arrays), arrays


def _pack(value: Any, arrays: dict[str, np.ndarray]) -> Any:
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
        name = f"a{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    raise TypeError(f"a value of type {kind.__module__}.{kind.__qualname__} is not saved")


def unpack(packed: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """Nested values from what `pack` gave; of anything else an error of Python's."""
    if isinstance(packed, list):
        return [unpack(each, arrays) for each in packed]
    if not isinstance(packed, dict):
        return packed
    ((tag, content),) = packed.items()
    if tag == "dict":
        return {key: unpack(value, arrays) for key, value in content}
    if tag == "tuple":
        return tuple(unpack(content, arrays))
    if tag == "array":
        return arrays[content]
    if tag == "scalar":
        return _SCALARS[content[0]](unpack(content[1], arrays))
    return {"float": float}[tag](content)
