"""Tables that commands print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Column, Table
from rich.text import Text

from common.texts import printable

NARROWEST_FOLD, MOST_FOLDS = 16, 2  # characters to which a column of names may be folded, and lines of a name
_GAPS = ("  ", " ")  # between columns, as the terminal allows


def plain_table(title: str | None = None) -> Table:
    """A table without a frame, narrow enough for many columns; columns and rows are added by the caller."""
    # A title that is a text of rich is not read as markup.
    return Table(
        title=Text(title, style="table.title") if title else None,
        title_justify="left",
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        collapse_padding=True,
    )


@dataclass(frozen=True)
class Fitted:
    """A table where the terminal is wide enough for it, with names on at most two lines.

    On a narrower one each name has a line of its own, above its values in columns; on one that is narrower still, each value
    has a line.

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
            for column in self.table.columns:
                column.no_wrap = column.overflow != "fold"
            yield self.table
            return
        if self.table.title:
            yield Text(str(self.table.title), style="italic")
        names, *columns = self.table.columns
        rows = [(f"{names.header} {name}".strip(), row) for row, name in enumerate(names.cells)]
        texts = [[str(column.header), *map(str, column.cells)] for column in columns]
        widths = [max(map(_widest, own)) for own in texts]
        gap = next((own for own in _GAPS if 1 + sum(widths) + len(own) * (len(widths) - 1) <= options.max_width), None)
        if gap is None:
            for name, row in rows:
                yield Text(name, style="bold")
                for own in texts:
                    if value := " ".join(own[row + 1].split()):
                        yield Text(f"  {own[0]}: {value}")
            return
        yield from _aligned([own[0] for own in texts], columns, widths, gap, "dim")
        for name, row in rows:
            yield Text(name, style="bold", overflow="fold")
            yield from _aligned([own[row + 1] for own in texts], columns, widths, gap, "")

    def _least_width(self, console: Console) -> int:
        widest = console.options.update(max_width=10_000, markup=False)
        natural = console.measure(self.table, options=widest).maximum
        return natural - sum(
            max(0, _width(column) - _narrowest(console, column)) for column in self.table.columns if column.overflow == "fold"
        )


def _aligned(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int], gap: str, style: str) -> Iterator[Text]:
    """Cells in columns, one below the other where they have several lines."""
    parts = [cell.split("\n") for cell in cells]
    for number in range(max(map(len, parts), default=0)):
        line = [own[number] if number < len(own) else "" for own in parts]
        placed = (
            text.rjust(width) if column.justify == "right" else text.ljust(width)
            for text, column, width in zip(line, columns, widths, strict=True)
        )
        if shown := gap.join(placed).rstrip():
            yield Text(f" {shown}", style=style)


def _narrowest(console: Console, column: Column) -> int:
    """Width at which the texts of a column that may be folded have at most `MOST_FOLDS` lines."""
    texts = [Text(str(text)) for text in (column.header, *column.cells)]
    for width in range(min(NARROWEST_FOLD, _width(column)), _width(column)):
        if all(len(text.wrap(console, width, overflow="fold")) <= MOST_FOLDS + str(text).count("\n") for text in texts):
            return width
    return _width(column)


def _width(column: Column) -> int:
    """Characters of its longest line."""
    return max(_widest(str(text)) for text in [column.header, *column.cells])


def _widest(text: str) -> int:
    """Characters of the longest line of a text."""
    return max(map(len, [*text.splitlines(), ""]))
