"""How a search looks while it runs: a view that a terminal updates in place, or lines."""

from __future__ import annotations

import logging
import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.control import Control
from rich.live import Live
from rich.live_render import LiveRender
from rich.segment import ControlType, Segment
from rich.text import Text

from common.texts import duration, printable
from common.uris import with_uris
from results.live import LiveSearch, LiveTrial

BETWEEN = " | "
MOST_SHOWN = 8  # trials
OTHER_LINES = 8  # of the view, beside its trials, about
LEAST_BAR, MOST_BAR = 6, 24  # cells
MOST_SPARKS = 30  # cells
NOT_YET = "time left not known yet"
MOST_COLUMNS = 100  # of a line in a log
_COPIED = re.compile(r"python -m |[\w.~-][/\\][\w.-]")  # a command or a path
_FULL, _EMPTY, _SPARKS = "\u2501", "\u2500", "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
_ASCII_FULL, _ASCII_EMPTY, _ASCII_SPARKS = "#", "-", "_.-=+*%#"


def say(console: Console, line: object) -> None:
    """Print one line as it is: without colours and markup, and with escapes for what cannot be printed.

    A terminal breaks a sentence between words. What may be copied, a command or a path, stays whole, as do lines of a log.
    """
    text = printable(with_uris(str(line)))
    is_whole = not console.is_terminal or _COPIED.search(text) is not None
    console.print(text, highlight=False, markup=False, soft_wrap=is_whole)


def texts(search: LiveSearch) -> list[str]:
    """A search in short texts, as a line of a log has them: at most `MOST_COLUMNS` of them, the speed if there is room."""
    before, left = [*search.amounts, *([f"best {search.best}"] if search.best else [])], _left(search)
    whole = [*before, *_speed(search), *left]
    return whole if len(BETWEEN.join(whole)) <= MOST_COLUMNS else [*before, *left]


def _speed(search: LiveSearch) -> list[str]:
    """Three digits of it; it changes with each trial."""
    return [] if search.steps_per_second is None else [f"{float(f'{search.steps_per_second:.3g}'):,.0f} steps/s"]


def _left(search: LiveSearch) -> list[str]:
    """Time left; empty for a run that has ended."""
    if search.phase != "running":
        return []
    most = "at most " if search.left_is_bound else ""
    return [NOT_YET if search.left is None else f"{most}{duration(search.left)} left"]


def wrapped(parts: Sequence[str], width: int, between: str = BETWEEN) -> list[str]:
    """Texts side by side in lines that are at most so wide; a wider text has a line of its own."""
    lines = list(parts[:1])
    for part in parts[1:]:
        joined = between.join((lines[-1], part))
        if len(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(part)
    return lines


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
        most = max(1, min(MOST_SHOWN, options.size.height - OTHER_LINES))
        yield from self.lines(options.max_width, most, options.ascii_only)

    def lines(self, width: int, most_trials: int = MOST_SHOWN, ascii_only: bool = False) -> list[Text]:
        """The view, line by line."""
        search, (full, empty, sparks) = self.search, _signs(ascii_only)
        share = f" {search.done:.0%}"
        name = printable(search.experiment)
        beside = width - len(name) - len(share) - 2
        is_beside = beside >= LEAST_BAR
        names = [name] if is_beside else [name[start : start + width] for start in range(0, len(name), width)]
        bar = _bar(search.done, min(MOST_BAR, beside if is_beside else width - len(share)), full, empty) + share
        lines = [Text(part, "bold") for part in names]
        if is_beside:
            lines[-1].append(f"  {bar}", "not bold")
        else:
            lines.append(Text(bar))
        lines += map(Text, wrapped([*search.amounts, *_speed(search)], width))
        lines += self._trials(width, most_trials, full, empty)
        lines += self._best(width, sparks)
        lines += map(Text, wrapped([*_left(search), f"{duration(search.elapsed)} elapsed"], width))
        lines += [Text(line, "dim") for line in wrapped(search.machine, width, ", ")]
        lines += [Text(line, "yellow") for line in wrapped(self.note.split(" "), width, " ")] if self.note else []
        return lines

    def _trials(self, width: int, most: int, full: str, empty: str) -> list[Text]:
        search = self.search
        if not search.trials:
            return []
        shown = search.trials[:most]
        heads = ("trial", "state", "steps", f"last {search.rating}")
        rows = [(str(trial.number), trial.state, f"{trial.steps:,}", trial.rating) for trial in shown]
        # As wide as they may become, so that columns stay where they are.
        widest = ("", "continuing", f"{search.most_steps:,}", "")
        wide = [max(len(row[column]) for row in (heads, widest, *rows)) for column in range(len(heads))]
        bar = min(MOST_BAR, width - sum(wide) - 2 * len(wide) - 5)
        progress = bar + 5 if bar >= LEAST_BAR else 4

        def line(cells: Sequence[str], middle: str) -> str:
            number, state, steps, rating = cells
            return "  ".join(
                (
                    number.rjust(wide[0]),
                    state.ljust(wide[1]),
                    steps.rjust(wide[2]),
                    middle.ljust(progress),
                    rating.rjust(wide[3]),
                )
            ).rstrip()

        lines = [Text(line(heads, ""), "dim")]
        for trial, row in zip(shown, rows, strict=True):
            share = _share(trial, search.most_steps)
            part = f"{share:4.0%}"
            lines.append(Text(line(row, f"{_bar(share, bar, full, empty)} {part}" if bar >= LEAST_BAR else part)))
        if len(search.trials) > most:
            lines.append(Text(f"and {len(search.trials) - most} more", "dim"))
        return lines

    def _best(self, width: int, sparks: str) -> list[Text]:
        search = self.search
        if not search.best:
            return []
        best = f"best {search.best}"
        room = width - len(best) - 2
        own_line = room < LEAST_BAR
        cells = min(MOST_SPARKS, width if own_line else room)
        row = sparkline(search.curve, search.elapsed, cells, sparks)
        if not row:
            return [Text(best)]
        if own_line:
            return [*map(Text, wrapped(best.split(" "), width, " ")), Text(row, "green")]
        return [Text.assemble(best, "  ", (row, "green"))]


def _signs(ascii_only: bool) -> tuple[str, str, str]:
    return (_ASCII_FULL, _ASCII_EMPTY, _ASCII_SPARKS) if ascii_only else (_FULL, _EMPTY, _SPARKS)


def _share(trial: LiveTrial, most_steps: int) -> float:
    return min(1.0, trial.steps / most_steps) if most_steps > 0 else 0.0


def _bar(share: float, cells: int, full: str, empty: str) -> str:
    done = round(min(1.0, max(0.0, share)) * cells)
    return full * done + empty * (cells - done)


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
        rows = sum(max(1, math.ceil(own / width)) for own in self._widths)
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
    """All handlers that write to a stream which is no file of their own."""
    loggers = [logging.root, *(own for own in logging.root.manager.loggerDict.values() if isinstance(own, logging.Logger))]
    handlers = {handler for own in loggers for handler in own.handlers if isinstance(handler, logging.StreamHandler)}
    return {handler for handler in handlers if not isinstance(handler, logging.FileHandler)}


def replaces_lines(console: Console) -> bool:
    """Whether lines can be updated in place: not without a terminal, nor on one that only appends."""
    return console.is_terminal and not console.is_dumb_terminal
