"""Tables that commands print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Column, Table
from rich.text import Text

from common.texts import printable

NARROWEST = 12  # characters of a column of names; on a narrower terminal each name has a line of its own
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
    """A table of texts where the terminal is wide enough for it; its first column names the rows.

    On a narrower one a name that is too long has a line of its own, above its values, which stay in their columns. On one that
    is too narrow for the columns, each value has a line. Brackets in its cells are no markup, and control characters are
    escapes: names come from files of other people too.
    """

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """What rich prints."""
        for part in self._parts(console, options):
            for segment in console.render(part, options.update(markup=False)):
                yield segment if segment.control else segment._replace(text="\n".join(map(printable, segment.text.split("\n"))))

    def _parts(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """The table, or its lines."""
        width = options.max_width
        widest = console.options.update(max_width=10_000, markup=False)
        if console.measure(self.table, options=widest).maximum <= width:
            yield self.table
            return
        if self.table.title:
            yield Text(str(self.table.title), style="italic")
        columns = [_Cells.of(column) for column in self.table.columns]
        names, values = columns[0], columns[1:]
        needed = {gap: sum(column.width for column in values) + len(gap) * (len(values) - 1) for gap in _GAPS}
        gap = next((gap for gap in _GAPS if needed[gap] < width), None)
        if gap is None:
            for row in range(1, len(names.texts)):
                yield Text(names.full(row), style="bold")
                for column in values:
                    if value := " ".join(column.texts[row].split()):
                        yield Text(f"  {column.texts[0]}: {value}")
            return
        room = width - needed[gap] - len(gap)
        room = min(room, names.width) if room >= NARROWEST else 0
        for row, name in enumerate(names.texts):
            is_inside = len(name) <= room
            if not is_inside and row:
                yield Text(names.full(row), overflow="fold")
            yield from _lines([names.placed(name if is_inside else "", room)] if room else [], values, row, gap)


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

    def placed(self, text: str, width: int) -> str:
        """A text at its side of a column."""
        return text.rjust(width) if self.is_right else text.ljust(width)


def _lines(name: Sequence[str], values: Sequence[_Cells], row: int, gap: str) -> Iterator[Text]:
    """A row: as many lines as its values have."""
    parts = [column.texts[row].split("\n") for column in values]
    for number in range(max(map(len, parts))):
        cells = [
            column.placed(part[number] if number < len(part) else "", column.width)
            for column, part in zip(values, parts, strict=True)
        ]
        first = [cell if number == 0 else " " * len(cell) for cell in name]
        # Without a column of names, values stand one blank behind them.
        if shown := ("" if name else " ") + gap.join([*first, *cells]).rstrip():
            yield Text(shown, style="bold" if row == 0 else "")
