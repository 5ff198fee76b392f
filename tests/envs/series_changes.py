"""Changes of series as text, so that all else keeps each digit."""

from collections.abc import Callable
from pathlib import Path


def lines_of(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def write_lines(file: Path, lines: list[str]) -> None:
    file.write_text("\n".join([*lines, ""]), encoding="utf-8")


def put_cells(file: Path, line: int, **values: str) -> None:
    """Replace values in a line, counted as an editor counts."""
    lines = lines_of(file)
    cells = dict(zip(lines[0].split(","), lines[line - 1].split(","), strict=True)) | values
    lines[line - 1] = ",".join(cells.values())
    write_lines(file, lines)


def change_column(file: Path, column: str, cell: Callable[[str], str]) -> None:
    """Replace the values of a column."""
    header, *rows = (line.split(",") for line in lines_of(file))
    for row in rows:
        row[header.index(column)] = cell(row[header.index(column)])
    write_lines(file, [",".join(row) for row in (header, *rows)])
