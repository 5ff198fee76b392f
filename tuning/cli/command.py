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
        print(f"error: what this command prints could not be written: {output.error}", file=sys.stderr)
        return UNWRITTEN
    return status


def _status(kind: type[T], arguments: Sequence[str] | None, program: str, answer: Callable[[T], int]) -> int:
    """Carry out a command; see `command`."""
    try:
        options = parse(kind, sys.argv[1:] if arguments is None else arguments, None, program)
        set_environment()
        return answer(options)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED
    except InconsistentError as error:
        print(f"error: internal consistency check failed; please report this: {error}", file=sys.stderr)
        return INCONSISTENT
    except KeyboardInterrupt:
        return INTERRUPTED
