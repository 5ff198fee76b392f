"""Reads a series file as CityLearn reads it; what it would misread is refused with a remedy, never converted."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from envs.scenarios.shapes import shortened

if TYPE_CHECKING:
    import pandas as pd

PARQUET = (".parquet", ".pq", ".parq")  # the endings by which CityLearn tells them
MOST_BYTES = 2**30  # a year of 40 columns in full precision has 7 MB
MOST_VALUES = 2 * 10**7  # of a Parquet file, 160 MB; fifty years of 40 columns
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"PK\x03\x04": "a workbook", b"\xd0\xcf\x11\xe0": "a workbook"}
_REMEDY = "save it as CSV in UTF-8 with one line of names"


def read_table(file: Path, known: Collection[str], text: Collection[str] = ()) -> pd.DataFrame | str:
    """All rows of a file, or why they cannot be read; columns of `text` come as text where they are no whole numbers."""
    import pandas as pd
    from pyarrow import ArrowException

    try:
        if file.stat().st_size > MOST_BYTES:
            return f"{file} has more than {MOST_BYTES // 2**30} GiB, more than any year of hours; name the right file"
        if file.suffix.lower() in PARQUET:
            if reason := _too_much(file):
                return f"{file} {reason}"
            try:
                table = pd.read_parquet(file)
            except (LookupError, TypeError, AttributeError, RecursionError) as error:
                # How pandas fails at a wrong description of its own; CityLearn would too, in the middle of a run.
                why = f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
                return (
                    f"{file} cannot be read: its entry 'pandas' describes another table ({why}); write it anew with pandas, or "
                    "save it as CSV"
                )
            table.columns = table.columns.map(str)
        else:
            if reason := _foreign(file, known):
                return f"{file} {reason}"
            # A skipped line would shift the line numbers of messages.
            table = pd.read_csv(file, skip_blank_lines=False, low_memory=False)
            for column in text:
                if column in table and table[column].dtype.kind == "f":
                    table[column] = pd.read_csv(file, usecols=[column], dtype=str, skip_blank_lines=False)[column]
    # pandas' own errors and wrong encodings are ValueErrors; csv.Error is a line longer than CSV may have.
    except (ValueError, OSError, NotImplementedError, OverflowError, csv.Error, ArrowException) as error:
        reason = " ".join(str(error).split())[:300]
        return f"{file} cannot be read: {reason}; {_REMEDY}"
    if not table.index.equals(pd.RangeIndex(len(table))):
        return (
            f"{file}: its rows have more values than line 1 has names; remove the commas at their ends, and write decimals "
            "with a point"
        )
    while len(table) and table.iloc[-1].isna().all():  # empty lines at the end
        table = table.iloc[:-1]
    return table


def _too_much(file: Path) -> str:
    """Why a Parquet file takes too much memory; empty where it does not. Equal values take no room in it: its footer tells."""
    import pyarrow.parquet as pq

    footer = pq.read_metadata(file)
    # Not by column: where a footer is damaged, Arrow ends the process when it is asked for one.
    values = footer.num_rows * footer.num_columns
    if values > MOST_VALUES:
        return f"has {values:,} values, and a series has at most {MOST_VALUES:,}; name the right file"
    if sum(footer.row_group(i).total_byte_size for i in range(footer.num_row_groups)) > MOST_BYTES:
        return f"unpacks to more than {MOST_BYTES // 2**30} GiB, more than any year of hours; name the right file"
    return ""


def _foreign(file: Path, known: Collection[str]) -> str:
    """How a CSV file differs from what CityLearn reads, with the remedy; empty where it does not."""
    with file.open("rb") as opened:
        start = opened.read(4)
    for mark, kind in _ENCODINGS.items():
        if start.startswith(mark):
            return f"is {kind}, which CityLearn cannot read; {_REMEDY}"
    with file.open(encoding="utf-8-sig", newline="") as lines:
        header = lines.readline(2**20)
    for separator, name in _SEPARATORS.items():
        if separator in header and header.count(separator) > header.count(","):
            return (
                f"has {name} between its values, and CityLearn reads commas; save it with commas between values and points in "
                "decimals"
            )
    names = next(csv.reader([header]), [])
    spaced = [name for name in names if name not in known and name.strip() in known]
    if spaced:
        return f"has spaces around the column '{shortened(spaced[0])}', so CityLearn does not know it; remove them"
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    return "" if twice is None else f"has the column '{shortened(twice)}' twice; remove one of them"
