"""Command lines: what is refused is one line, and the exit status says so."""

import argparse
import errno
import sys
from collections.abc import Callable
from typing import NoReturn

from common.errors import UserError
from common.files import FULL
from common.paths import shortened
from common.texts import printable

REFUSED, INTERRUPTED = 2, 130  # exit status
# What a disk, its permissions or a path may refuse. Other errors of the system are faults of this project.
_OF_FILES = {
    *FULL, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.EISDIR, errno.ENOTDIR,
    errno.EEXIST, errno.EIO,
}  # fmt: skip


class Parser(argparse.ArgumentParser):
    """Says what is wrong with a command line in one line, as the commands of `tuning` do."""

    def error(self, message: str) -> NoReturn:
        """End the process with a line."""
        sys.exit(refuse(f"{message}; see --help"))


def refuse(*lines: object) -> int:
    """Say on stderr what is wrong, and give the exit status."""
    print("error: " + "\n".join(printable(str(line)) for line in lines), file=sys.stderr)
    return REFUSED


def of_a_place(error: OSError) -> str:
    """What a disk refuses, in a line."""
    place = f"{shortened(error.filename)}: " if error.filename else ""
    return f"{place}{error.strerror}; free or repair this place, or choose another"


def status_of(run: Callable[[], int | None]) -> int:
    """Exit status of a command; where it cannot be carried out as given, or a disk refuses, a line on stderr says why."""
    try:
        return run() or 0
    except UserError as error:
        return refuse(*error.args)
    except OSError as error:
        if error.errno not in _OF_FILES:
            raise
        return refuse(of_a_place(error))
    except KeyboardInterrupt:
        return INTERRUPTED
