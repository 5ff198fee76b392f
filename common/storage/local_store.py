"""Objects in a folder, such as one of a share that several machines mount."""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from common.files import NEW, sync_folder
from common.storage.location import StorageError
from common.storage.store import Content, Stamp, pieces
from common.units import MIB

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP)  # of a share, or a drive, whose file system has none
_OPEN_ELSEWHERE = 5  # of Windows: not permitted, and also that another process has a file open which is removed
_UNFINISHED = ".storage-"  # begins the name of a file that is being written


class LocalStore:
    """Files below a folder. A file appears under its name when it is whole."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def listed(self, prefix: str) -> dict[str, Stamp]:
        """See `Store`."""
        top, _, _ = prefix.rpartition("/")
        found = {}
        for parent, folders, files in os.walk(self._folder / top):
            folders.sort()
            for name in sorted(files):
                path = Path(parent, name)
                key = path.relative_to(self._folder).as_posix()
                if key.startswith(prefix) and not name.startswith(_UNFINISHED):
                    with suppress(FileNotFoundError):  # removed since
                        found[key] = _stamp(path)
        return found

    def folders(self, prefix: str) -> list[str]:
        """See `Store`."""
        try:
            return [path.name for path in (self._folder / prefix).iterdir() if path.is_dir()]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def stamp(self, key: str) -> Stamp:
        """See `Store`."""
        return _stamp(self._file(key))

    def read(self, key: str, start: int, end: int) -> bytes:
        """See `Store`."""
        with self._file(key).open("rb") as file:
            file.seek(start)
            return file.read(end - start)

    def put(self, key: str, content: Content) -> None:
        """See `Store`."""
        path = self._folder / key
        with self._written(path, content) as new:
            new.replace(path)

    def create(self, key: str, content: Content) -> None:
        """See `Store`. The name appears at once with the whole content, and only where there is none."""
        path = self._folder / key
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        with self._written(path, content) as new:
            if os.name == "nt":
                new.rename(path)  # Windows replaces nothing by it
            else:
                _link(new, path)

    def remove(self, key: str) -> None:
        """See `Store`."""
        try:
            (self._folder / key).unlink(missing_ok=True)
        except PermissionError as error:
            if getattr(error, "winerror", None) != _OPEN_ELSEWHERE:
                raise
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(self._folder / key)) from error

    def errors(self) -> tuple[type[Exception], ...]:
        """See `Store`."""
        return (OSError,)

    def _file(self, key: str) -> Path:
        """Path of an object; a folder is none."""
        path = self._folder / key
        if path.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        return path

    @contextmanager
    def _written(self, path: Path, content: Content) -> Iterator[Path]:
        """Write a content beside a path, flushed to the disk; what is left of it afterwards is removed."""
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.parent / f"{_UNFINISHED}{uuid.uuid4().hex}{NEW}"
        try:
            with new.open("xb") as file:
                for piece in pieces(content, 8 * MIB):
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            yield new
            sync_folder(path.parent)
        finally:
            # A full disk needs the room, and a link leaves its other name.
            with suppress(OSError):
                new.unlink(missing_ok=True)


def _link(new: Path, path: Path) -> None:
    """Give a whole file its name, where there is none.

    Raises:
        FileExistsError: if it has one already.
        StorageError: if the file system has no hard links: its own error would be told as a lack of permission.
    """
    try:
        path.hardlink_to(new)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        raise StorageError(
            f"{path.parent}: the file system of this folder has no hard links, so an object could be created twice; "
            f"take a folder on another one, or s3:// or gs://"
        ) from error


def _stamp(path: Path) -> Stamp:
    """Stamp of a file: a renamed one has another inode, and on systems without inodes another time."""
    found = path.stat()
    return Stamp(found.st_size, f"{found.st_mtime_ns:x}-{found.st_ino:x}")
