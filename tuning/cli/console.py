"""What the package writes on a terminal or in a notebook, beside tables and progress."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from common.errors import UserError
from common.texts import printable
from common.uris import with_uris

if TYPE_CHECKING:
    from rich.console import Console


# What a report may fail at: files, memory, odd tables. Results are written by then, so none of these ends the command.
_FAILURES = (UserError, OSError, MemoryError, ArithmeticError, LookupError, ValueError)


def terminal() -> Console:
    """The terminal or notebook; with the environment variable NO_COLOR, texts have no style either."""
    from rich.console import Console

    return Console(color_system=None if os.environ.get("NO_COLOR") else "auto")


def say(console: Console, line: object) -> None:
    """Print one line as it is: without colours, breaks and markup, and with escapes for what cannot be printed."""
    console.print(printable(with_uris(str(line))), highlight=False, markup=False, soft_wrap=True)


class SteadyOutput:
    """Standard output that no character and no reader stops.

    Characters that its encoding lacks are written as escapes, as on standard error. After an error, such as that the reader of
    a pipe has gone, nothing more is written, and the command goes on.

    Attributes:
        error: of the first write that failed; None if all succeeded.
    """

    def __init__(self, file: TextIO) -> None:
        """Wrap the file that Python opened."""
        self._file = file
        self.error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, text: str) -> int:
        """Write a text; its length."""
        if not self.error:
            try:
                try:
                    self._file.write(text)
                except UnicodeEncodeError as error:
                    self._file.write(text.encode(error.encoding, "backslashreplace").decode(error.encoding))
            except OSError as error:
                self._end(error)
        return len(text)

    def flush(self) -> None:
        """Write what is buffered."""
        if not self.error:
            try:
                self._file.flush()
            except OSError as error:
                self._end(error)

    def _end(self, error: OSError) -> None:
        """Let what is buffered go to nowhere; Python writes it at its exit."""
        self.error = error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._file.fileno())
        os.close(nowhere)

    @property
    def is_lost(self) -> bool:
        """Whether output is missing that had a reader, as on a full disk."""
        # Windows says "invalid argument" of a pipe without a reader.
        return self.error is not None and self.error.errno not in (errno.EPIPE, errno.EINVAL)


@contextmanager
def steady_output() -> Iterator[SteadyOutput | None]:
    """Replace standard output by a `SteadyOutput`. Yields it; None where there is no standard output."""
    before = sys.stdout
    # Without a terminal that started it, or with `>&-`, a process has none.
    if before is None:
        yield None
        return
    steady = SteadyOutput(before)
    sys.stdout = steady
    try:
        yield steady
    finally:
        steady.flush()
        sys.stdout = before


def draw_report(folders: Sequence[Path], console: Console, publish: Callable[[Path], object] = lambda path: path) -> None:
    """Write `report.html` into the first folder, and print its path, or one line why it could not be drawn."""
    from results import report

    try:
        with warnings.catch_warnings():
            # What lacks in the tables was told where they were loaded.
            warnings.simplefilter("ignore")
            place = publish(report.write(folders, to=folders[0] / report.NAME))
    except _FAILURES as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split()) if not isinstance(error, UserError) else str(error)
        say(console, f"no report: {reason}; results are whole, and python -m results.report {folders[0]} tries again")
    else:
        say(console, f"Report:  {place}")
