"""Arrays as NPZ files that hold numbers and nothing else: nothing in them is unpickled.

Trainers have dozens of small arrays. All of one type are one array of the file, as each array of a file takes longer to write
than its numbers.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from common.files import write_whole

NUMBERS = "biuf"  # kinds of arrays' elements: booleans, integers, floats
_CHUNK = 4 * 2**20  # bytes that are written at once


class StateError(ValueError):
    """A file holds no such state; the message says where."""


class Arrays:
    """Arrays that one file holds: those of one type follow one another.

    Attributes:
        pieces: of each type, by its name, in their order.
    """

    def __init__(self) -> None:
        self.pieces: dict[str, list[np.ndarray]] = {}
        self._names: dict[np.dtype[Any], str] = {}
        self._elements: dict[str, int] = {}

    def add(self, array: np.ndarray) -> list[Any]:
        """Add an array; returns the name of its type, its first element and its shape."""
        name = self._names.get(array.dtype)
        if name is None:
            plain = array.dtype.kind in NUMBERS and array.dtype.isnative
            name = self._names[array.dtype] = array.dtype.name if plain else f"records{len(self._names)}"
            self.pieces[name], self._elements[name] = [], 0
        first = self._elements[name]
        self.pieces[name].append(array)
        self._elements[name] += array.size
        return [name, first, list(array.shape)]

    def write(self, path: Path) -> None:
        """Write them into an NPZ file, whole or not at all."""
        write_whole(path, lambda file: _write_pieces(file, self.pieces))


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays into an NPZ file, whole or not at all.

    Args:
        path: of the file.
        arrays: by name.

    Raises:
        TypeError: for an array of Python objects.
    """
    if any(array.dtype.hasobject for array in arrays.values()):
        raise TypeError(f"of {sorted(arrays)}, some hold Python objects, which are not saved")
    write_whole(path, lambda file: np.savez(file, **arrays))  # type: ignore[arg-type]


def _write_pieces(file: BinaryIO, pieces: Mapping[str, list[np.ndarray]]) -> None:
    """Write lists of arrays as if each list were one vector, without copying them together."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, parts in pieces.items():
            described = np.lib.format.dtype_to_descr(parts[0].dtype)
            header = {"descr": described, "fortran_order": False, "shape": (sum(part.size for part in parts),)}
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:
                np.lib.format.write_array_header_1_0(entry, header)
                for chunk in _chunks(parts):
                    entry.write(chunk)


def _chunks(parts: list[np.ndarray]) -> Iterator[bytes]:
    """Bytes of arrays, some megabytes at once: to write each by itself costs time, and to join all costs memory."""
    joined: list[bytes] = []
    size = 0
    for part in parts:
        joined.append(part.tobytes())
        size += part.nbytes
        if size >= _CHUNK:
            yield b"".join(joined)
            joined, size = [], 0
    yield b"".join(joined)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Arrays of an NPZ file by name. Nothing in the file is unpickled, and they take no more memory than it has bytes.

    Raises:
        StateError: if it is no such file; its name is in the message.
        OSError: if it cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if compressed := [entry.filename for entry in archive.infolist() if entry.compress_type != zipfile.ZIP_STORED]:
                raise ValueError(f"{compressed[0]} is compressed")
            # Entries may overlap, and would then take more memory than the file has bytes.
            if sum(entry.file_size for entry in archive.infolist()) > path.stat().st_size:
                raise ValueError("its entries overlap")
            return {entry.filename.removesuffix(".npy"): _read_array(archive, entry) for entry in archive.infolist()}
    except (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError) as error:
        raise StateError(f"{path} holds no arrays: {error}") from None


def _read_array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    """One array, after comparing the size that its header claims with the bytes that are there."""
    with archive.open(entry) as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise ValueError(f"{entry.filename} has the unknown format {version}")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
        if dtype.hasobject:
            raise ValueError(f"{entry.filename} holds Python objects")
        data = file.read()
    if dtype.itemsize * math.prod(shape) != len(data):
        raise ValueError(f"{entry.filename} has {len(data)} bytes, which are no {dtype.name} of shape {shape}")
    array = np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")
    return array.copy(order="K")  # one that may be written to
