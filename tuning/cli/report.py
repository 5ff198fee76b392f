"""The report that a search or a judgement ends with."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from common.errors import UserError
from tuning.cli.console import say

# What files, memory and odd tables may cause. Results are written by then, so none of these ends the command.
_FAILURES = (UserError, OSError, MemoryError, ArithmeticError, LookupError, ValueError)


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
