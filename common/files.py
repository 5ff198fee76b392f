"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

NEW = ".new"  # suffix of what is being written


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file under another name, make sure that it is on the disk, and rename it.

    Args:
        path: of the file; one of that name is replaced.
        write: writes the content into the open file that it is given.
    """
    new = path.with_suffix(NEW)
    with new.open("wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def sync_folder(folder: Path) -> None:
    """Make sure that renames within a folder are on the disk. Windows does so itself and opens no folders."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
