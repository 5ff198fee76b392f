"""The front door of all commands: options from a dataclass, and one line for each error."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

from common.errors import InconsistentError, UserError
from common.paths import shortened
from common.texts import printable
from tuning.cli.console import steady_output
from tuning.cli.options import parse
from tuning.runtime.ray_session import set_environment
from tuning.runtime.signals import Interrupted, stop_signals_as_interrupts

T = TypeVar("T")
INCONSISTENT = UNWRITTEN = 1  # exit status
REFUSED, INTERRUPTED = 2, 130
# What a disk, its permissions or a path may refuse. Other errors of the system are faults of this project.
_OF_FILES = {
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.EISDIR, errno.ENOTDIR,
}  # fmt: skip


def command(kind: type[T], arguments: Sequence[str] | None, program: str, answer: Callable[[T], int]) -> int:
    """Carry out a command.

    Args:
        kind: dataclass of its options.
        arguments: of the command line; those of this process by default.
        program: how it is called.
        answer: carries it out; imports what is heavy, so that `--help` answers at once.

    Returns:
        Exit status: the answer's; with a line on stderr 1 for a failed internal check or output that cannot be written, and 2
        for a command that cannot be carried out as given; 130 after Ctrl-C.
    """
    with steady_output() as output:
        status = _status(kind, arguments, program, answer)
    if output and output.is_lost and not status:
        tell(f"what this command prints could not be written: {output.error}")
        return UNWRITTEN
    return status


def _status(kind: type[T], arguments: Sequence[str] | None, program: str, answer: Callable[[T], int]) -> int:
    """Carry out a command; see `command`."""
    try:
        options = parse(kind, sys.argv[1:] if arguments is None else arguments, None, program)
        set_environment()
        with stop_signals_as_interrupts():
            return answer(options)
    except UserError as error:
        tell(*map(str, error.args))
        return REFUSED
    except InconsistentError as error:
        tell(f"internal consistency check failed; please report this: {error}")
        return INCONSISTENT
    except OSError as error:
        if error.errno not in _OF_FILES:
            raise
        place = f"{shortened(error.filename)}: " if error.filename else ""
        tell(f"{place}{error.strerror}; free or repair this place, or choose another")
        return REFUSED
    except Interrupted:
        return INTERRUPTED
    except KeyboardInterrupt:
        print("stopped; this command has written no results", file=sys.stderr)
        return INTERRUPTED


def tell(*lines: str) -> None:
    """Print the lines of an error, whatever stands in names and values: line breaks and control characters as escapes."""
    print("error: " + "\n".join(map(printable, lines)), file=sys.stderr)
