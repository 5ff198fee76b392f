"""What the package writes on a terminal or in a notebook, beside tables and progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def say(console: Console, line: object) -> None:
    """Print one line as it is: paths are neither coloured nor broken, and brackets are no markup.

    Args:
        console: to print to.
        line: text, or what has one, such as a path.
    """
    console.print(line, highlight=False, markup=False, soft_wrap=True)
