"""Tables that commands print."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.table import Table


def plain_table(title: str | None = None) -> Table:
    """A table without a frame, narrow enough for many columns; columns and rows are added by the caller."""
    return Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
