"""Files that are made once and kept: generated years, uncontrolled runs, observation layouts, tables, bounds.

Beside each entry lies its checksum, `.sum`. An entry that differs from it is named and made anew, so damage changes no number.
"""

import errno
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from filelock import FileLock

from common.errors import UserError
from common.files import is_full, sync_folder, write_whole
from common.json_values import checked
from common.paths import FOLDER_VARIABLE, cache_folder, shortened
from common.texts import note

T = TypeVar("T")
LOCK = ".lock"
_LEVELS = 2  # of a key: a scenario's folder, and an entry of it


class CacheError(UserError):
    """A file or folder of the cache cannot be read or written. The message names the variable that says where it is."""


@contextmanager
def usable_cache() -> Iterator[None]:
    """Turn errors of the file system into a `CacheError` of one line: the cache, what is wrong, and the remedy."""
    try:
        yield
    except OSError as error:
        raise CacheError(_unusable(error)) from error


def _unusable(error: OSError) -> str:
    at = f" at {error.filename}" if error.filename else ""
    reason = f"{error.strerror or error}{at}"
    if value := os.environ.get(FOLDER_VARIABLE):
        return f"{FOLDER_VARIABLE} is {value!r}, which cannot be used ({reason}); set it to a folder that you may write to"
    return (
        f"the cache {cache_folder()} cannot be used ({reason}); make it a folder that you may write to, or set "
        f"{FOLDER_VARIABLE} to one"
    )


def is_cached(key: str) -> bool:
    """Whether the cache has a whole entry of a key."""
    target = _entry(key)
    with usable_cache():
        return _is_whole(target)


def _entry(key: str) -> Path:
    """Path of a key: a name, or a scenario's and one below; a `CacheError` if it leads elsewhere, as from a changed file."""
    parts = key.split("/")
    # `Path` drops empty parts and dots. On Windows it splits at backslashes and drives too.
    if len(parts) > _LEVELS or ".." in parts or "\0" in key or Path(key).parts != tuple(parts):
        raise CacheError(
            f"{shortened(ascii(key))} is no entry of the cache: the year or the site in it is none that this package wrote; "
            "restore the file that names it"
        )
    return cache_folder() / key


def cached_folder(key: str, fill: Callable[[Path], object]) -> Path:
    """Folder of a cache key, which `fill` writes into an empty one the first time, and anew where it was damaged.

    It is renamed when whole, so a kill leaves no partial folder. If two processes fill it at once, the second takes the result
    of the first. A `CacheError` if the cache cannot be used, or the key leads out of it.
    """
    return _cached(key, fill, is_folder=True)


def cached_file(key: str, write: Callable[[Path], object]) -> Path:
    """File of a cache key, written the first time; see `cached_folder`."""
    return _cached(key, write, is_folder=False)


def cached_json(kind: type[T], key: str, make: Callable[[], T]) -> T:
    """Value of a cache key, as a dataclass or a list of some, kept as JSON and made the first time; see `cached_folder`."""
    path = cached_file(key, lambda path: path.write_text(json.dumps(make(), default=asdict), encoding="utf-8"))
    return checked(json.loads(path.read_text(encoding="utf-8")), kind, key)


def cached_arrays(key: str, make: Callable[[], Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Arrays of a cache key by name, which ends in `.npz`, made the first time; see `cached_folder`."""
    with np.load(cached_file(key, lambda path: np.savez_compressed(path, **make()))) as saved:
        return {name: saved[name] for name in saved.files}


def cached_array(key: str, make: Callable[[], np.ndarray], by_rows: bool = False) -> np.ndarray:
    """The same for one array, with a key in `.npy`; with `by_rows` only rows that are read come into memory."""
    file = cached_file(key, lambda path: np.save(path, make()))
    return np.load(file, mmap_mode="r" if by_rows else None)


def _cached(key: str, make: Callable[[Path], object], is_folder: bool) -> Path:
    target = _entry(key)
    with usable_cache():
        if _is_whole(target):
            return target
        if target.exists() and _sum_file(target).exists():  # one without a checksum was never whole
            note(f"{target} of the cache is damaged; it is made anew")
        target.parent.mkdir(parents=True, exist_ok=True)
        # Paths stay short: Windows refuses more than 260 characters.
        work = Path(tempfile.mkdtemp(prefix=".new-", dir=target.parent))
    try:
        new = work / "folder" if is_folder else work / target.name
        if is_folder:
            new.mkdir()
        try:
            make(new)
        except OSError as error:
            if not (is_full(error) or error.errno == errno.EROFS):
                raise
            raise CacheError(_unusable(error)) from error
        with usable_cache():
            _sync(new)
            digest = _digest_of(new)
            # One process at a time: else another one would see the entry before its checksum, and remove it as it is read.
            with FileLock(target.parent / LOCK):
                if not _is_whole(target):  # another process may have been faster
                    _remove(target)
                    new.rename(target)
                    sync_folder(target.parent)
                    _write_sum(target, digest)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target


def _is_whole(target: Path) -> bool:
    sums = _sum_file(target)
    if not sums.is_file() or not target.exists():
        return False
    return sums.read_bytes().strip() == _digest_of(target).encode()


def _remove(target: Path) -> None:
    """Remove an entry and its checksum, whatever stands in their places."""
    for path in (_sum_file(target), target):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _sum_file(target: Path) -> Path:
    return target.with_name(f"{target.name}.sum")


def _write_sum(target: Path, digest: str) -> None:
    write_whole(_sum_file(target), f"{digest}\n".encode())
    sync_folder(target.parent)


def _files(target: Path) -> list[Path]:
    return sorted(path for path in target.rglob("*") if path.is_file()) if target.is_dir() else [target]


def _digest_of(target: Path) -> str:
    """Checksum of a file, or of all files of a folder with their names; read again only where one was written since."""
    files = _files(target)
    stats = [path.stat() for path in files]
    return _digest(target, tuple((path, stat.st_size, stat.st_mtime_ns) for path, stat in zip(files, stats, strict=True)))


@lru_cache(maxsize=1024)
def _digest(target: Path, files: tuple[tuple[Path, int, int], ...]) -> str:
    """CRC-32, which is for damage and not for attackers: a year of 128 sockets has 90 MB, and SHA-256 takes twice as long."""
    whole = 0
    for path, size, _ in files:
        name = path.relative_to(target).as_posix() if path != target else ""
        whole = zlib.crc32(f"{name}\n{size}\n".encode(), whole)
        with path.open("rb") as file:
            while piece := file.read(2**20):
                whole = zlib.crc32(piece, whole)
    return f"crc32 {whole:08x}"


def _sync(target: Path) -> None:
    """Flush a file, or all files of a folder, to the disk."""
    for path in _files(target):
        with path.open("r+b") as file:
            os.fsync(file.fileno())
    if target.is_dir():
        sync_folder(target)
