"""Nested plain values and arrays as data: JSON for the values, NPZ for the arrays. Reading them runs no code.

What JSON lacks is an object with one tag:

    {"dict": [[key, value], ...]}     a dictionary, in its order; keys are texts, numbers or None
    {"tuple": [...]}                  a tuple
    {"array": "a17"}                  an array, by its name in the NPZ file
    {"scalar": ["float32", 0.5]}      a scalar of NumPy
    {"float": "nan"}                  a float that is not finite
"""

from __future__ import annotations

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
    """A file holds no such state; the message says where."""


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays by their names into an NPZ file, whole or not at all; TypeError for one of Python objects."""
    if any(array.dtype.hasobject for array in arrays.values()):
        raise TypeError(f"of {sorted(arrays)}, some hold Python objects, which are not saved")
    write_whole(path, lambda file: np.savez(file, **arrays))  # type: ignore[arg-type]


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Arrays of an NPZ file by name, without unpickling anything; StateError, with its name, if it is no such file."""
    try:
        with path.open("rb") as raw, np.lib.npyio.NpzFile(raw, allow_pickle=False) as file:
            entries = file.zip.infolist()  # type: ignore[union-attr]
            # Ours lie as they are, one after another: a small file is no large array.
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
                raise StateError(f"{path} holds compressed arrays")
            if sum(entry.file_size for entry in entries) > path.stat().st_size:
                raise StateError(f"{path} holds arrays that overlap")
            arrays = {name: file[name] for name in file.files}
    except StateError:
        raise
    except _UNREADABLE as error:
        raise StateError(f"{path} holds no arrays: {error}") from None
    # NumPy gives the bytes of entries that are none.
    if any(not isinstance(array, np.ndarray) for array in arrays.values()):
        raise StateError(f"{path} holds more than arrays")
    return arrays


def pack(state: object) -> tuple[Any, dict[str, np.ndarray]]:
    """Split nested plain values and arrays into what `json.dumps` takes, and arrays by name, which `unpack` needs again.

    Raises:
        TypeError: for values that are no data.
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
    """Nested values from what `pack` gave; StateError if it is something else, or an array is missing."""
    if packed is None or isinstance(packed, bool | int | float | str):
        return packed
    if isinstance(packed, list):
        return [unpack(each, arrays) for each in packed]
    try:
        ((tag, content),) = packed.items()
        if tag in ("dict", "tuple") and not isinstance(content, list):
            raise TypeError("its content is no list")
        if tag == "dict":
            if not all(isinstance(pair, list) for pair in content):
                raise TypeError("its items are no pairs")
            return {key: unpack(value, arrays) for key, value in content}
        if tag == "tuple":
            return tuple(unpack(content, arrays))
        if tag == "array":
            return arrays[content]
        if tag == "scalar":
            name, value = content
            return _SCALARS[name](unpack(value, arrays))
        if tag == "float":
            return float(content)
    except (AttributeError, TypeError, ValueError, KeyError, OverflowError) as error:
        raise StateError(f"it holds {packed!s:.50}, which is no value of a state: {error}") from None
    raise StateError(f"it holds {packed!s:.50}, which is no value of a state")


def check_fits(state: Any, own: Any, place: str = "state") -> None:
    """See that a state has the structure of another one of the same object, as far as that has one yet.

    Empty containers and None in `own` stand for what is not known yet; a dictionary may have further keys.

    Raises:
        StateError: by the first place that differs.
    """
    if state is None or own is None:
        return
    if isinstance(own, np.ndarray):
        if not isinstance(state, np.ndarray) or state.dtype != own.dtype or state.shape != own.shape:
            raise StateError(f"{place} is {_shape(state)} where {_shape(own)} is needed")
    elif isinstance(own, dict):
        if not isinstance(state, dict) or (own and not own.keys() <= state.keys()):
            raise StateError(f"{place} lacks {', '.join(_missing(state, own))}")
        for key, value in own.items():
            check_fits(state[key], value, f"{place}.{key}")
    elif isinstance(own, list | tuple):
        if type(state) is not type(own):
            raise StateError(f"{place} is {_shape(state)} where {_shape(own)} is needed")
        for i, (value, others) in enumerate(zip(state, own, strict=False)):
            check_fits(value, others, f"{place}[{i}]")
    elif isinstance(own, str) is not isinstance(state, str) or isinstance(state, list | tuple | dict | np.ndarray):
        raise StateError(f"{place} is {_shape(state)} where {_shape(own)} is needed")


def _missing(state: Any, own: dict[Any, Any]) -> list[str]:
    return [str(key) for key in own if not isinstance(state, dict) or key not in state] or ["its values"]


def _shape(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype.name}, shape {value.shape}"
    return f"a {type(value).__name__}"
