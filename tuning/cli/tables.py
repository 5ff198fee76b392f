"""Tables that commands print."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Column, Table
from rich.text import Text

from common.texts import printable

NARROWEST_FOLD = 16  # characters to which a column of names may be folded


def plain_table(title: str | None = None) -> Table:
    """A table without a frame, narrow enough for many columns; columns and rows are added by the caller."""
    # A title that is a text of rich is not read as markup.
    return Table(
        title=Text(title, style="table.title") if title else None,
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )


@dataclass(frozen=True)
class Fitted:
    """A table where the terminal is wide enough for it; elsewhere a line for each row and value.

    Brackets in its cells are no markup, and control characters are escapes: names come from files of other people too.

    Attributes:
        table: of texts. Its first column names the rows. Columns with `overflow="fold"` may be folded, others may not.
    """

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """What rich prints."""
        for part in self._parts(console, options):
            for segment in console.render(part, options.update(markup=False)):
                yield segment if segment.control else segment._replace(text="\n".join(map(printable, segment.text.split("\n"))))

    def _parts(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """The table, or its lines."""
        if self._least_width(console) <= options.max_width:
            yield self.table
            return
        if self.table.title:
            yield Text(str(self.table.title), style="italic")
        names, *columns = self.table.columns
        for row, name in enumerate(names.cells):
            yield Text(f"{names.header} {name}".strip(), style="bold")
            for column in columns:
                if value := " ".join(str(list(column.cells)[row]).split()):
                    yield Text(f"  {column.header}: {value}")

    def _least_width(self, console: Console) -> int:
        widest = console.options.update(max_width=10_000, markup=False)
        natural = console.measure(self.table, options=widest).maximum
        return natural - sum(
            max(0, _width(column) - NARROWEST_FOLD) for column in self.table.columns if column.overflow == "fold"
        )


def _width(column: Column) -> int:
    """Characters of its longest line."""
    texts = [column.header, *column.cells]
    return max(len(line) for text in texts for line in [*str(text).splitlines(), ""])
