"""Reads texts, and writes files so that a crash leaves the old file or the new one, never a partial one."""

import errno
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

NEW = ".new"  # suffix of a file that is being written
FULL = (errno.ENOSPC, errno.EDQUOT)  # of errors of the system: a disk takes nothing more
MOST_TEXT = 64 * 2**20  # bytes and letters; the largest text that this package writes has some kilobytes

IS_WINDOWS = os.name == "nt"
REPLACE_SECONDS = 5.0  # on Windows, that another process may have a file open which is replaced


def read_text(path: Path) -> str:
    """Text of a UTF-8 file, without the byte-order mark that some editors put before it.

    Raises:
        OSError: if the file cannot be read, has more than `MOST_TEXT`, or is no regular file.
        UnicodeDecodeError: a ValueError, if it is not UTF-8.
    """
    status = path.stat()
    # A pipe without a writer keeps its reader waiting for ever, and a device such as /dev/zero has no end.
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a regular file", str(path))
    if status.st_size <= MOST_TEXT:
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(MOST_TEXT + 1)  # some files have more than their size says
        if len(text) <= MOST_TEXT:
            return text
    raise OSError(errno.EFBIG, f"it has more than {MOST_TEXT // 2**20} MiB", str(path))


def is_full(error: BaseException) -> bool:
    """Whether an error says that a disk or a quota is full."""
    return isinstance(error, OSError) and error.errno in FULL


def told_full(folder: Path | str, error: BaseException) -> str:
    """That the disk of a folder is full, in a line, by an error that `is_full`."""
    return f"the disk of {folder} is full ({os.strerror(error.args[0])}): free some of it"


def write_whole(path: Path, content: bytes | Callable[[BinaryIO], object], suffix: str = NEW) -> None:
    """Write a file under another name, with a suffix of its own, flush it to the disk, and rename it.

    `content` is what it holds, or writes that.
    """
    new = path.with_suffix(suffix)
    # Whatever waits under that name is removed and not written through: it may be a link to another place.
    new.unlink(missing_ok=True)
    try:
        with new.open("xb") as file:
            file.write(content) if isinstance(content, bytes) else content(file)
            file.flush()
            os.fsync(file.fileno())
        replace(new, path)
    except BaseException:
        # A full disk needs the room.
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise


def replace(new: Path, path: Path) -> None:
    """Rename a file onto another one. Windows refuses that while a program reads the other one, so it is tried again there."""
    until = time.monotonic() + REPLACE_SECONDS
    while True:
        try:
            new.replace(path)
        except PermissionError:
            if not IS_WINDOWS or time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return


def sync_folder(folder: Path) -> None:
    """Flush renames within a folder to the disk. Windows does so itself and opens no folders."""
    if IS_WINDOWS:
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
