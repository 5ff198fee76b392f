"""Command lines of the parts that know nothing of `tuning`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import NoReturn

from common.errors import UserError
from common.texts import printable

REFUSED, INTERRUPTED = 2, 130  # exit status


class Parser(argparse.ArgumentParser):
    """Says what is wrong with a command line in one line, as the commands of `tuning` do."""

    def error(self, message: str) -> NoReturn:
        """End the process with a line."""
        sys.exit(refuse(f"{message}; see --help"))


def refuse(*lines: object) -> int:
    """Say on stderr what is wrong, and give the exit status."""
    print("error: " + "\n".join(printable(str(line)) for line in lines), file=sys.stderr)
    return REFUSED


def status_of(run: Callable[[], int | None]) -> int:
    """Exit status of a command, which is said on stderr where it is refused."""
    try:
        return run() or 0
    except UserError as error:
        return refuse(*error.args)
    except KeyboardInterrupt:
        return INTERRUPTED
