"""Load an experiment's results as pandas DataFrames; needs neither ray nor torch."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import UserError
from results.schema import FOLDER, READ_MEASURES, SCHEMA_VERSION, TABLES, schema
from results.writer import table_folder

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_ORDER = {"trials": ["trial"], "reports": ["trial", "update"], "evaluations": ["trial", "steps", "year"]}


class ResultsError(UserError, ValueError):
    """A folder holds no results, or none that are complete. The message says what to do."""


@dataclass(frozen=True)
class Results:
    """Results of one experiment; `results.schema` describes the columns.

    Attributes:
        folder: of the experiment.
        trials: one row a trial, by number.
        reports: one row an update of a trial.
        evaluations: one row for each policy, split and year that was evaluated.
        skipped: part files that could not be read.
    """

    folder: Path
    trials: pd.DataFrame
    reports: pd.DataFrame
    evaluations: pd.DataFrame
    skipped: tuple[Path, ...] = field(default=())

    @property
    def best(self) -> pd.Series:
        """Row of the complete trial with the highest score.

        Raises:
            ResultsError: if no trial is complete.
        """
        complete = self.trials[(self.trials["state"] == "complete") & self.trials["score"].notna()]
        if complete.empty:
            raise ResultsError(f"{self.folder}: no trial is complete yet, so there is no best one")
        return complete.iloc[int(complete["score"].to_numpy().argmax())]


def load(folder: str | Path) -> Results:
    """Load an experiment.

    A part file that cannot be read is skipped, and a warning names it.

    Args:
        folder: of the experiment.

    Raises:
        ResultsError: if the folder holds no results.
    """
    folder = Path(folder)
    if not (folder / FOLDER).is_dir():
        raise ResultsError(f"no results in {folder}: give the folder of an experiment, such as experiments/ppo-iquitos-1")
    skipped: list[Path] = []
    tables = {}
    for name in TABLES:
        parts = []
        for path in sorted(table_folder(folder, name).glob("*.parquet")):
            part = _read(path)
            if isinstance(part, str):
                warnings.warn(f"skipped {path}: {part}", stacklevel=2)
                skipped.append(path)
            else:
                parts.append(part)
        tables[name] = _frame(name, parts)
    return Results(folder, **tables, skipped=tuple(skipped))


def _read(path: Path) -> pa.Table | str:
    """Table of a part file, or the reason why it cannot be used."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        part = pq.read_table(path, partitioning=None)
        version = int((part.schema.metadata or {}).get(b"schema_version", b"0"))
    except (pa.ArrowException, OSError, ValueError) as error:
        return str(error)
    if version > SCHEMA_VERSION:
        return f"its schema version {version} is newer than this package's {SCHEMA_VERSION}: update the package"
    return part


def _frame(name: str, parts: list[pa.Table]) -> pd.DataFrame:
    """All parts of a table. It has the table's own columns, and the measures that summaries read, even if no part has them."""
    import pyarrow as pa

    table = pa.concat_tables([schema(name).empty_table(), *parts], promote_options="permissive")
    for measure in READ_MEASURES if name == "evaluations" else ():
        if measure not in table.column_names:
            table = table.append_column(measure, pa.nulls(len(table), pa.float64()))
    return table.to_pandas().sort_values(_ORDER[name], ignore_index=True)
