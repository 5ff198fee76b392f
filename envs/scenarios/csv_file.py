"""Reads a series file as CityLearn reads it, and says what to change where CityLearn would misread it.

A file is never converted: what is not CSV with commas and points is refused, so no number is read as another one.
"""

from __future__ import annotations

import csv
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from envs.scenarios.faults import shortened

if TYPE_CHECKING:
    import pandas as pd

PARQUET = (".parquet", ".pq", ".parq")  # the endings by which CityLearn tells them
MOST_BYTES = 2**30  # a year of 40 columns in full precision has 7 MB
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"PK\x03\x04": "a workbook", b"\xd0\xcf\x11\xe0": "a workbook"}
_REMEDY = "save it as CSV in UTF-8 with one line of names"


def read_table(file: Path, known: Collection[str], text: Collection[str] = ()) -> pd.DataFrame | str:
    """All rows of a file, or one line that says why they cannot be read.

    Args:
        file: CSV or Parquet.
        known: names that its columns may have.
        text: columns that come as text where they are no whole numbers.
    """
    import pandas as pd
    from pyarrow import ArrowException

    try:
        if file.stat().st_size > MOST_BYTES:
            return f"{file} has more than {MOST_BYTES // 2**30} GiB, more than any year of hours; name the right file"
        if file.suffix.lower() in PARQUET:
            table = pd.read_parquet(file)
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
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    return f"has the column '{shortened(twice[0])}' twice; remove one of them" if twice else ""
