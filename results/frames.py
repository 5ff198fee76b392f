"""Arrow tables as pandas DataFrames: in the order of their rows, and without a second copy of long ones."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

LONG = 100_000  # rows from which on a frame takes over Arrow's memory
# Such a frame has a block for each column. Pandas warns of more than 100 where a column is added.
_MOST_BLOCKS = 90
_READERS = 4  # columns that are read at once


def joined(tables: list[pa.Table], names: Sequence[str]) -> pa.Table:
    """One table of all columns and rows; the list is emptied, so that memory can be freed.

    Tables follow each other by their first rows, where that puts the rows in order. Else they stay as they are.

    Args:
        tables: at least one.
        names: columns of whole numbers that rows are to be ordered by.
    """
    import pyarrow as pa

    ordered = [tables[number] for number in in_order(tables, names)]
    # Tables of equal columns first: to unify the columns of thousands takes longer than to read them.
    alike: list[list[pa.Table]] = []
    for table in ordered:
        if not alike or table.schema != alike[-1][0].schema:
            alike.append([])
        alike[-1].append(table)
    tables.clear()
    return pa.concat_tables([pa.concat_tables(own) for own in alike], promote_options="permissive")


def in_order(tables: Sequence[pa.Table], names: Sequence[str]) -> list[int]:
    """Places of tables by their first rows, where each then ends before the next begins; else as they are given.

    Args:
        tables: each with these columns.
        names: columns of whole numbers that rows are to be ordered by.
    """
    bounds = {}
    for number, table in enumerate(tables):
        if len(table):
            ends = [tuple(table[name][place].as_py() for name in names) for place in (0, len(table) - 1)]
            if any(value is None for end in ends for value in end):
                return list(range(len(tables)))
            bounds[number] = ends
    order = sorted(bounds, key=lambda number: bounds[number][0])
    if any(bounds[one][1] >= bounds[other][0] for one, other in itertools.pairwise(order)):
        return list(range(len(tables)))
    # Empty ones have columns, too.
    return [number for number, table in enumerate(tables) if not len(table)] + order


def is_sorted(table: pa.Table, names: Sequence[str]) -> bool:
    """Whether rows are in the order of some columns of whole numbers already, as those of packs are."""
    import numpy as np

    if any(table[name].null_count for name in names):
        return False
    decided = np.zeros(max(len(table) - 1, 0), bool)
    for name in names:
        steps = np.diff(table[name].to_numpy())
        if bool(((steps < 0) & ~decided).any()):
            return False
        decided |= steps > 0
    return True


def to_frame(columns: dict[str, pa.ChunkedArray]) -> pd.DataFrame:
    """Columns as a DataFrame, which can be changed in place. Columns are taken out of `columns` as they become part of it.

    Args:
        columns: by name, all as long.
    """
    import pandas as pd
    import pyarrow as pa

    rows = len(next(iter(columns.values()), ()))
    if rows < LONG or len(columns) > _MOST_BLOCKS:
        frame: pd.DataFrame = pa.table(columns).to_pandas()
        columns.clear()
        return frame
    return pd.DataFrame({name: _values(columns.pop(name)) for name in list(columns)}, copy=False)


@dataclass(frozen=True)
class LongColumn:
    """A column that is read when the frame needs it.

    Attributes:
        kind: type that holds the values of all its parts.
        read: reads its parts in the order of their rows, once; several columns are read at once.
    """

    kind: pa.DataType
    read: Callable[[], Iterable[pa.ChunkedArray]]


def read_frame(columns: Mapping[str, LongColumn], keys: pa.Table, names: Sequence[str]) -> pd.DataFrame:
    """A long DataFrame whose columns are read one by one: beside it only parts of some of them are in memory.

    Args:
        columns: all as long.
        keys: columns that rows are to be ordered by, in the order in which the rows are read.
        names: of these.
    """
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    order = None
    if not is_sorted(keys, names):
        # Empty ones come last, as pandas has it.
        order = np.lexsort([keys[name].to_pandas().to_numpy() for name in reversed(names)])

    def values(column: LongColumn) -> Any:
        read = _read(column, len(keys))
        return read if order is None else read.take(order)

    with ThreadPoolExecutor(min(_READERS, pa.cpu_count())) as readers:
        read: dict[str, Any] = {}
        for name, own in zip(columns, readers.map(values, columns.values()), strict=True):
            read[name] = own
            # What was read of it is freed, but Arrow keeps the memory for itself until it is told.
            pa.default_memory_pool().release_unused()
    frame = pd.DataFrame(read, copy=False)
    # A copy has a block for each type.
    return frame if len(columns) <= _MOST_BLOCKS else frame.copy()


def _read(column: LongColumn, rows: int) -> Any:
    """Values of a column. Of numbers, each part is freed before the next is read."""
    import numpy as np
    import pyarrow as pa

    parts = iter(column.read())
    if column.kind in (pa.int64(), pa.float64()):
        values, at = np.empty(rows, column.kind.to_pandas_dtype()), 0
        for part in parts:
            if part.type != column.kind or (part.null_count and column.kind == pa.int64()):
                parts = itertools.chain([pa.chunked_array([values[:at]]), part], parts)
                break
            for piece in part.chunks:
                values[at : at + len(piece)] = piece.to_numpy(zero_copy_only=False)
                at += len(piece)
        else:
            return values
    return _values(pa.concat_tables([pa.table({"": part}) for part in parts], promote_options="permissive")[""])


def _values(column: pa.ChunkedArray) -> Any:
    """Values of a column, in the memory that they are in where they lie in one piece."""
    import numpy as np
    import pyarrow as pa

    pieces = [piece for piece in column.chunks if len(piece)]
    if len(pieces) == 1 and not column.null_count and column.type in (pa.int64(), pa.float64()):
        memory = pieces[0].buffers()[1]
        if memory.is_mutable:
            start = pieces[0].offset
            return np.frombuffer(memory, column.type.to_pandas_dtype())[start : start + len(column)]
    values = column.to_pandas().array
    # Of numbers and times in one piece, pandas shows Arrow's memory itself.
    shown = getattr(values, "_ndarray", None)
    return values if shown is None or shown.flags.writeable else values.copy()
