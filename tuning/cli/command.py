"""The front door of all commands: options from a dataclass, and one line for each error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

from common.errors import InconsistentError, UserError
from tuning.cli.console import steady_output
from tuning.cli.options import parse
from tuning.runtime.ray_session import set_environment

T = TypeVar("T")
INCONSISTENT = UNWRITTEN = 1  # exit status
REFUSED, INTERRUPTED = 2, 130


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
        _tell(f"what this command prints could not be written: {output.error}")
        return UNWRITTEN
    return status


def _status(kind: type[T], arguments: Sequence[str] | None, program: str, answer: Callable[[T], int]) -> int:
    """Carry out a command; see `command`."""
    try:
        options = parse(kind, sys.argv[1:] if arguments is None else arguments, None, program)
        set_environment()
        return answer(options)
    except UserError as error:
        _tell(str(error))
        return REFUSED
    except OSError as error:
        # Folders and files that a user names reach the system in many places. Errors without a name are not about these.
        if error.filename is None:
            raise
        _tell(f"{str(error.filename)!r}: {error.strerror}")
        return REFUSED
    except InconsistentError as error:
        _tell(f"internal consistency check failed; please report this: {error}")
        return INCONSISTENT
    except KeyboardInterrupt:
        return INTERRUPTED


def _tell(error: str) -> None:
    """Print an error in one line, whatever stands in names and values: line breaks and control characters as escapes."""
    print("error: " + "".join(c if c.isprintable() else repr(c)[1:-1] for c in error), file=sys.stderr)
