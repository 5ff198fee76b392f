"""Reads texts, and writes files so that a crash leaves the old file or the new one, never a partial one."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

NEW = ".new"  # suffix of a file that is being written


def read_text(path: Path) -> str:
    """Text of a UTF-8 file, without the byte-order mark that some editors put before it.

    Raises:
        OSError: if the file cannot be read.
        UnicodeDecodeError: a ValueError, if it is not UTF-8.
    """
    return path.read_text(encoding="utf-8-sig")


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file under another name, flush it to the disk, and rename it.

    Args:
        path: of the file; an existing one is replaced.
        write: writes the content into the open file that it is given.
    """
    new = path.with_suffix(NEW)
    # Whatever waits under that name is removed and not written through: it may be a link to another place.
    new.unlink(missing_ok=True)
    try:
        with new.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except BaseException:
        # A full disk needs the room.
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Flush renames within a folder to the disk. Windows does so itself and opens no folders."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
