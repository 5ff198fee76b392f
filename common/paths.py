"""Paths and names of folders that a user gives; links, which are refused; where this machine keeps its cache."""

import itertools
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PureWindowsPath

from common.errors import UserError
from common.uris import is_flattened, is_uri, without_credentials

MOST_LETTERS = 200  # of a name; file systems take 255 bytes, and files named after it append to it
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# Names of devices on Windows, with any suffix.
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)


class PathError(UserError, ValueError):
    """A path that cannot be one on this system, or cannot be looked at."""


def user_path(given: str | Path) -> Path:
    """The path that a user gave, with `~` replaced by the home folder. It need not exist.

    Raises a PathError if it is a URI, or the system takes no such path, or does not let this process look at it.
    """
    if is_uri(given) or is_flattened(given):
        raise PathError(f"{shortened(without_credentials(str(given)))} is a URI, and a path on this machine belongs here")
    try:
        path = Path(given).expanduser()
    except RuntimeError:
        raise PathError(f"{given}: no user has this home folder; write the path in full") from None
    if os.name == "nt" and (device := next((part for part in PureWindowsPath(path).parts if _DEVICE.fullmatch(part)), None)):
        raise PathError(f"{given}: {device} is the name of a device on Windows; choose another path")
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise PathError(f"{shortened(given)}: {error.strerror}; choose another path") from error
    except ValueError as error:
        # A null character, or half of a pair of UTF-16.
        raise PathError(f"{shortened(ascii(str(given)))} cannot be a path: {error}") from error
    return path


@contextmanager
def new_folder(given: str | Path) -> Iterator[Path]:
    """Make a folder, which an error within removes again; a PathError if it is there already or cannot be made."""
    folder = user_path(given)
    if folder.exists():
        raise PathError(f"{folder} is there already; name a folder that is new")
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise PathError(f"{folder} cannot be made ({error.strerror}); name a folder that you may write to") from error
    try:
        yield folder
    except BaseException as error:
        shutil.rmtree(folder)
        if isinstance(error, OSError) and not error.filename:
            error.filename = str(folder)  # as that of a write to a full disk
        raise


def is_share(given: str) -> bool:
    """Whether Windows takes a path for one on another machine or for a device: to look at it would connect to it."""
    return given.replace("/", "\\").startswith(("\\\\", "\\??\\"))


def name_fault(name: str) -> str:
    """Why a name cannot be that of a folder within another one, here or on another system; empty if it can."""
    if not _NAME.fullmatch(name):
        return "the letters a to z, digits, dots, dashes and underscores make a name, a letter or digit first"
    if len(name) > MOST_LETTERS:
        return f"it has {len(name)} letters; a name has at most {MOST_LETTERS}"
    if name.endswith("."):
        return "Windows takes no name that ends in a dot"
    return "it is the name of a device on Windows" if _DEVICE.fullmatch(name) else ""


def fit_name(text: str) -> str:
    """A text as the beginning of a folder's name: other characters become dashes, and a long one is cut."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text)[: MOST_LETTERS // 2]


def shortened(given: object) -> str:
    """A path for a message: of a very long one its two ends."""
    text = str(given)
    return text if len(text) <= MOST_LETTERS else f"{text[:60]}...{text[-20:]} ({len(text)} letters)"


def missing_folders(folder: Path) -> tuple[Path, ...]:
    """A folder and its parents, as far as they do not exist yet, the innermost first."""
    return tuple(itertools.takewhile(lambda each: not each.exists(), (folder, *folder.parents)))


def remove_empty(folders: tuple[Path, ...]) -> None:
    """Remove folders that are empty, the innermost first; stop at the first that is not."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


FOLDER_VARIABLE = "BUILDING_TUNER_CACHE"


def cache_folder() -> Path:
    """Where this machine keeps what can be made or fetched again: `FOLDER_VARIABLE`, else the system's place for caches."""
    import platformdirs

    return Path(os.environ.get(FOLDER_VARIABLE) or platformdirs.user_cache_dir("building-tuner", appauthor=False))


_REPARSE_POINT = 0x400  # attribute of Windows' links and junctions


class LinkError(UserError):
    """A folder holds a link, or something that is neither file nor folder; says which and what to do."""


def refuse_links(folder: Path) -> None:
    """Raise a LinkError unless a folder, if it is there, and all folders in it hold files and folders alone.

    A link leads to another person's choice. The folder itself may be reached by one.
    """
    for parent, folders, files in os.walk(folder):
        for name in sorted(folders) + sorted(files):
            path = Path(parent, name)
            try:
                status = path.lstat()
            except FileNotFoundError:
                continue  # a run that goes on removed it
            if stat.S_ISLNK(status.st_mode) or getattr(status, "st_file_attributes", 0) & _REPARSE_POINT:
                raise LinkError(f"{path} is a link, which may lead elsewhere: put the files themselves there, or remove it")
            if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
                raise LinkError(f"{path} is neither a file nor a folder: remove it")
