"""What the package writes on a terminal or in a notebook: lines, tables, and the path of a report."""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Column, Table
from rich.text import Text

from common.errors import UserError
from common.texts import printable, python_command
from results import live_view

say = live_view.say
NEWS_SECONDS = 5.0  # between two lines about the same, where there is no terminal
_GAP = "  "  # between columns
# What a report may fail at: files, memory, odd tables. Results are written by then, so none of these ends the command.
_FAILURES = (UserError, OSError, MemoryError, ArithmeticError, LookupError, ValueError)


def terminal(stderr: bool = False) -> Console:
    """The terminal or notebook; with the environment variable NO_COLOR, texts have no style either."""
    return Console(color_system=None if os.environ.get("NO_COLOR") else "auto", stderr=stderr)


@contextmanager
def busy(console: Console, doing: str, at_once: bool = True) -> Iterator[Callable[[str], None]]:
    """Show what a command does as long as it does it: a moving sign on a terminal, elsewhere a line every few seconds.

    The first of these comes at once, or not before it takes so long.

    Yields:
        Shows how far that is, in words.
    """
    if console.is_terminal:
        with console.status(Text(printable(doing))) as status:
            yield lambda news: status.update(Text(printable(f"{doing}: {news}")))
        return
    if at_once:
        say(console, doing)
    begun, latest, done = time.monotonic(), [""], threading.Event()

    def repeat() -> None:
        while not done.wait(NEWS_SECONDS):
            say(console, f"{doing}: {latest[0]}{time.monotonic() - begun:.0f} s so far")

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield lambda news: latest.__setitem__(0, f"{news}, ")
    finally:
        done.set()
        thread.join()


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
        try:
            self._attempt(self._file.write, text)
        except UnicodeEncodeError as error:
            self._attempt(self._file.write, text.encode(error.encoding, "backslashreplace").decode(error.encoding))
        return len(text)

    def flush(self) -> None:
        """Write what is buffered."""
        self._attempt(self._file.flush)

    def _attempt(self, write: Callable[..., object], *arguments: str) -> None:
        """Write, unless an error ended that; what is buffered then goes to nowhere, as Python writes it at its exit."""
        if self.error:
            return
        try:
            write(*arguments)
        except OSError as error:
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
        with busy(console, "drawing the report", at_once=False), warnings.catch_warnings():
            # What lacks in the tables was told where they were loaded.
            warnings.simplefilter("ignore")
            place = publish(report.write(folders, to=folders[0] / report.NAME))
    except _FAILURES as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split()) if not isinstance(error, UserError) else str(error)
        again = python_command("results.report", folders[0])
        say(console, f"no report: {reason}; results are whole, and {again} tries again")
    else:
        say(console, f"Report:  {place}")


def plain_table(title: str | None = None, headings: Iterable[str] = (), left: Collection[str] = ("",)) -> Table:
    """A table without a frame, narrow enough for many columns; those of `left` hold words. Rows are added by the caller."""
    table = Table(
        # A title that is a text of rich is not read as markup.
        title=Text(title, style="table.title") if title else None,
        title_justify="left",
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        collapse_padding=True,
    )
    for heading in headings:
        table.add_column(heading, justify="left" if heading in left else "right", overflow="fold")
    return table


def cell(value: float | None, form: str) -> str:
    """A number as text; empty where there is none."""
    return "" if value is None or value != value else format(value, form)


def change(value: float, before: float) -> str:
    """By what part a value differs from what was before; empty where that is not known, or nothing was there."""
    return f"{value / before - 1.0:+z.1%}" if before > 0.0 and value == value else ""


@dataclass(frozen=True)
class Fitted:
    """A table of texts where the terminal is wide enough for it; its first column names the rows.

    On a narrower one each name has a line of its own, above its values, which stay in their columns. On one that is too narrow
    for these, each value has a line. Brackets in its cells are no markup, and control characters are escapes: names come from
    files of other people too.
    """

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """What rich prints."""
        for part in self._parts(console, options):
            for segment in console.render(part, options.update(markup=False)):
                yield segment if segment.control else segment._replace(text="\n".join(map(printable, segment.text.split("\n"))))

    def _parts(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        width = options.max_width
        widest = console.options.update(max_width=10_000, markup=False)
        if self.table.title:
            yield Text(str(self.table.title), style="italic")  # a table would wrap it to its own width
        if console.measure(self.table, options=widest).maximum <= width:
            untitled = copy(self.table)
            untitled.title = None
            yield untitled
            return
        names, *values = map(_Cells.of, self.table.columns)
        if sum(len(_GAP) + column.width for column in values) > width:
            for row in range(1, len(names.texts)):
                yield Text(names.full(row), style="bold")
                for column in values:
                    if value := " ".join(column.texts[row].split()):
                        yield Text(f"  {column.texts[0]}: {value}")
            return
        for row in range(len(names.texts)):
            if row:
                yield Text(names.full(row), overflow="fold")
            yield from _lines(values, row)


@dataclass(frozen=True)
class _Cells:
    """A column: its header, then its cells; whether they stand at the right; characters of the longest line."""

    texts: Sequence[str]
    is_right: bool
    width: int

    @classmethod
    def of(cls, column: Column) -> _Cells:
        """The column of a table."""
        texts = [str(column.header), *map(str, column.cells)]
        return cls(texts, column.justify == "right", max(len(line) for text in texts for line in [*text.splitlines(), ""]))

    def full(self, row: int) -> str:
        """A name with the heading of the names."""
        return f"{self.texts[0]} {self.texts[row]}".strip()

    def placed(self, text: str) -> str:
        """A text at its side of the column."""
        return text.rjust(self.width) if self.is_right else text.ljust(self.width)


def _lines(values: Sequence[_Cells], row: int) -> Iterator[Text]:
    for cells in zip_longest(*(column.texts[row].split("\n") for column in values), fillvalue=""):
        shown = "".join(_GAP + column.placed(cell) for column, cell in zip(values, cells, strict=True)).rstrip()
        if shown:
            yield Text(shown, style="bold" if row == 0 else "")
