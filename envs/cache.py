"""Files that are made once and kept: generated years, uncontrolled runs, observation layouts, tables, bounds."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import platformdirs

FOLDER_VARIABLE = "BUILDING_TUNER_CACHE"


def cache_folder() -> Path:
    """Folder of the cache: the environment variable BUILDING_TUNER_CACHE, else the system's place for caches."""
    return Path(os.environ.get(FOLDER_VARIABLE) or platformdirs.user_cache_dir("building-tuner", appauthor=False))


def cached_folder(key: str, fill: Callable[[Path], None]) -> Path:
    """Folder of a cache key, filled the first time.

    It is filled under another name and renamed when whole, so a kill leaves no partial folder. If two processes fill the same
    key at once, the second takes the result of the first.

    Args:
        key: path below the cache folder, with forward slashes.
        fill: writes the content into the empty folder that it is given.
    """
    target = cache_folder() / key
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # Paths stay short: Windows refuses more than 260 characters.
    work = Path(tempfile.mkdtemp(prefix=".new-", dir=target.parent))
    try:
        fill(work)
        try:
            work.rename(target)
        except OSError:
            if not target.is_dir():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target


def cached_file(key: str, write: Callable[[Path], None]) -> Path:
    """File of a cache key, written the first time; whole or not at all, as `cached_folder`.

    Args:
        key: path below the cache folder, with forward slashes.
        write: writes the content to the path that it is given.
    """
    target = cache_folder() / key
    if target.is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=target.parent) as work:
        new = Path(work) / target.name
        write(new)
        try:
            new.replace(target)
        except PermissionError:
            # Windows does not replace a file that another, faster process has open.
            if not target.is_file():
                raise
    return target
