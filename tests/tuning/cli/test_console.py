"""A line is printed as it is."""

import io
from pathlib import Path

from rich.console import Console

from tuning.cli.console import say


def test_a_line_is_neither_broken_nor_read_as_markup() -> None:
    output = io.StringIO()
    line = "trial 0: [bold]" + "x" * 200
    say(Console(file=output, width=40), line)
    say(Console(file=output, width=40), Path("/a") / ("b" * 60))
    assert output.getvalue() == f"{line}\n/a/{'b' * 60}\n"
