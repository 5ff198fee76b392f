"""How a search looks while it runs: a view that a terminal updates in place, or lines."""

import logging
import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.control import Control
from rich.live import Live
from rich.live_render import LiveRender
from rich.progress_bar import ProgressBar
from rich.segment import ControlType, Segment
from rich.table import Table
from rich.text import Text

from common.texts import duration, printable
from common.uris import with_uris
from results.live import LiveSearch

BETWEEN = " | "
MOST_SHOWN = 8  # trials
OTHER_LINES = 8  # of the view, beside its trials, about
MOST_BAR = 24  # cells
MOST_SPARKS = 30  # cells
NOT_YET = "time left not known yet"
MOST_COLUMNS = 100  # of a line in a log
_COPIED = re.compile(r"python -m |[\w.~-][/\\][\w.-]{2}")  # a command or a path, but no "steps/s"
_SPARKS, _ASCII_SPARKS = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588", "_.-=+*%#"


def say(console: Console, line: object, style: str = "") -> None:
    """Print one line as it is: without markup, its first word in a style, and with escapes for what cannot be printed.

    A terminal breaks a sentence between words. What may be copied, a command or a path, stays whole, as do lines of a log.
    """
    text = Text(printable(with_uris(str(line))))
    text.stylize(style, 0, text.plain.find(" ") if style else 0)
    is_whole = not console.is_terminal or _COPIED.search(text.plain) is not None
    console.print(text, highlight=False, soft_wrap=is_whole)


def texts(search: LiveSearch) -> list[str]:
    """A search in short texts, as a line of a log has them: at most `MOST_COLUMNS` of them, the speed if there is room."""
    before, left = [*_amounts(search), *([f"best {search.best}"] if search.best else [])], _left(search)
    whole = [*before, *_speed(search), *left]
    return whole if len(BETWEEN.join(whole)) <= MOST_COLUMNS else [*before, *left]


def _amounts(search: LiveSearch) -> list[str]:
    return [*search.amounts, *([f"{len(search.trials)} running"] if search.phase == "running" else [])]


def _speed(search: LiveSearch) -> list[str]:
    """Three digits of it; it changes with each trial."""
    return [] if search.steps_per_second is None else [f"{float(f'{search.steps_per_second:.3g}'):,.0f} steps/s"]


def _left(search: LiveSearch) -> list[str]:
    if search.phase != "running" or search.done >= 1.0:
        return []
    most = "at most " if search.left_is_bound else ""
    return [NOT_YET if search.left is None else f"{most}{duration(search.left)} left"]


def sparkline(curve: Sequence[Sequence[float]], until: float, cells: int, signs: str = _SPARKS) -> str:
    """A curve as a row of signs, from low to high; each is a part of the time until `until`, blank before the first value."""
    if not curve:
        return ""
    low, high = min(value for _, value in curve), max(value for _, value in curve)
    row = []
    for cell in range(1, cells + 1):
        reached = [value for seconds, value in curve if seconds <= until * cell / cells]
        level = (max(reached) - low) / (high - low) if reached and high > low else 0.0
        row.append(signs[round(level * (len(signs) - 1))] if reached else " ")
    return "".join(row)


@dataclass(frozen=True)
class LiveView:
    """A search as a terminal shows it: what was done, trials that run, the best so far, time left, load of the machine."""

    search: LiveSearch  # at a moment
    note: str = ""  # a line below it, such as how old it is; empty for none

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lines, none wider than the terminal."""
        search = self.search
        yield _row(Text(printable(search.experiment), "bold", overflow="fold"), *_progress(search.done))
        yield Text(BETWEEN.join([*_amounts(search), *_speed(search)]))
        if search.trials:
            yield self._trials(max(1, min(MOST_SHOWN, options.size.height - OTHER_LINES)))
        if search.best:
            signs = _ASCII_SPARKS if options.ascii_only else _SPARKS
            yield _row(f"best {search.best}", Text(sparkline(search.curve, search.elapsed, MOST_SPARKS, signs), "green"))
        yield Text(BETWEEN.join([*_left(search), f"{duration(search.elapsed)} elapsed"]))
        for text, style in ((", ".join(search.machine), "dim"), (self.note, "yellow")):
            if text:
                yield Text(text, style)

    def _trials(self, most: int) -> Table:
        table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="dim", caption_style="dim", caption_justify="left")
        table.add_column("trial", justify="right", no_wrap=True)
        # As wide as they may become, so that columns stay where they are.
        table.add_column("state", min_width=len("continuing"), no_wrap=True)
        table.add_column("steps", justify="right", min_width=len(f"{self.search.most_steps:,}"), no_wrap=True)
        table.add_column("")  # the bar, which gives way on a narrow terminal
        table.add_column("", justify="right", min_width=len("100%"), no_wrap=True)
        table.add_column(f"kept {self.search.rating}", justify="right", no_wrap=True)
        for trial in self.search.trials[:most]:
            part = _progress(trial.steps / max(1, self.search.most_steps))
            table.add_row(str(trial.number), trial.state, f"{trial.steps:,}", *part, trial.rating)
        if (more := len(self.search.trials) - most) > 0:
            table.caption = f"and {more} more"
        return table


def _row(*cells: RenderableType) -> Table:
    row = Table.grid(padding=(0, 2))
    row.add_row(*cells)
    return row


def _progress(share: float) -> tuple[ProgressBar, str]:
    return ProgressBar(1.0, share, MOST_BAR), f"{share:.0%}"


class _Reflowed(LiveRender):
    """Knows where its last lines are after the terminal was made narrower, which broke them into several."""

    def __init__(self, console: Console) -> None:
        super().__init__("")
        self._console, self._widths = console, [0]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        segments = [segment for segment in super().__rich_console__(console, options) if isinstance(segment, Segment)]
        self._widths = [Segment.get_line_length(line) for line in Segment.split_lines(segments)]
        yield from segments

    def position_cursor(self) -> Control:
        """Control codes that remove the last lines."""
        if self._shape is None:
            return Control()
        width = max(1, self._console.width)
        rows = sum(max(1, math.ceil(cells / width)) for cells in self._widths)
        up = ((ControlType.CURSOR_UP, 1), (ControlType.ERASE_IN_LINE, 2))
        return Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2), *(up * (rows - 1)))


class LiveRegion(Live):
    """Lines of a terminal that are updated in place; what is printed or logged meanwhile stands above them."""

    def __init__(self, console: Console) -> None:
        super().__init__(console=console, auto_refresh=False, transient=True)
        self._live_render = _Reflowed(console)
        self._moved: list[tuple[logging.StreamHandler[Any], Any]] = []

    def show(self, view: LiveView) -> None:
        """Replace the view."""
        self.update(view, refresh=True)

    def start(self, refresh: bool = False) -> None:
        """Begin. Handlers of `logging` keep their stream, so they get the one that rich puts in its place."""
        before = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
        super().start(refresh)
        for handler in _handlers():
            if any(handler.stream is stream for stream in before):
                self._moved.append((handler, handler.setStream(sys.stderr)))

    def stop(self) -> None:
        """Remove the lines, and give handlers back their streams."""
        for handler, stream in self._moved:
            handler.setStream(stream)
        self._moved = []
        super().stop()


def _handlers() -> set[logging.StreamHandler[Any]]:
    loggers = [logging.root, *logging.root.manager.loggerDict.values()]
    handlers = {handler for logger in loggers if isinstance(logger, logging.Logger) for handler in logger.handlers}
    return {each for each in handlers if isinstance(each, logging.StreamHandler) and not isinstance(each, logging.FileHandler)}


def replaces_lines(console: Console) -> bool:
    """Whether lines can be updated in place: not without a terminal, nor on one that only appends."""
    return console.is_terminal and not console.is_dumb_terminal
