"""Load an experiment's results as pandas DataFrames; needs neither ray nor torch."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import UserError
from results.schema import FOLDER, READ_MEASURES, SCHEMA_VERSION, STATES, TABLES, schema
from results.writer import table_folder

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_ORDER = {"trials": ["trial"], "reports": ["trial", "update"], "evaluations": ["trial", "steps", "year"]}
# Columns without which a row says nothing. A part of an older version may lack others.
_NEEDED = {
    "trials": ("trial", "state", "score"),
    "reports": ("trial", "update", "steps"),
    "evaluations": ("trial", "steps", "year", "score"),
}
# Columns that are filled in each row. In a judgement, evaluations of baselines and bounds have no trial.
_FILLED = {"trials": ("trial",), "reports": ("trial", "update"), "evaluations": ("year",)}


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
        skipped: part files that could not be used.
    """

    folder: Path
    trials: pd.DataFrame
    reports: pd.DataFrame
    evaluations: pd.DataFrame
    skipped: tuple[Path, ...] = field(default=())

    @property
    def scored(self) -> pd.DataFrame:
        """Rows of the complete trials with a finite score, by number."""
        return self.trials[(self.trials["state"] == "complete") & (self.trials["score"].abs() < math.inf)]

    @property
    def best(self) -> pd.Series:
        """Row of the complete trial with the highest score that is finite.

        Raises:
            ResultsError: if no trial is complete.
        """
        complete = self.scored
        if complete.empty:
            raise ResultsError(f"{self.folder}: no trial is complete yet, so there is no best one")
        return complete.iloc[int(complete["score"].to_numpy().argmax())]


def load(folder: str | Path) -> Results:
    """Load an experiment.

    A part file that cannot be read, or has columns of other types than its table, is skipped. A warning names it.

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
        parts: dict[Path, pa.Table] = {}
        reasons: dict[Path, str] = {}
        for path in sorted(table_folder(folder, name).glob("*.parquet")):
            part = _read(path, name)
            if isinstance(part, str):
                reasons[path] = part
            else:
                parts[path] = part
        reasons |= _unlike(parts)
        for path in sorted(reasons):
            warnings.warn(f"skipped {path}: {reasons[path]}", stacklevel=2)
            skipped.append(path)
        tables[name] = _frame(name, [part for path, part in parts.items() if path not in reasons])
    return Results(folder, **tables, skipped=tuple(skipped))


def _read(path: Path, table: str) -> pa.Table | str:
    """Table of a part file, or the reason why it cannot be used."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Arrow would read a folder as one table of all files in it.
    if path.is_dir():
        return "it is a folder: restore the file from a copy"
    try:
        part = pq.read_table(path, partitioning=None)
        version = int((part.schema.metadata or {}).get(b"schema_version", b"0"))
    except (pa.ArrowException, OSError, ValueError) as error:
        return " ".join(str(error).split())
    if version > SCHEMA_VERSION:
        return f"its schema version {version} is newer than this package's {SCHEMA_VERSION}: update the package"
    fault = _fault(part, table)
    return f"{fault}: restore the file from a copy" if fault else part


def _fault(part: pa.Table, table: str) -> str:
    """What is wrong with the columns of a part; empty where nothing is."""
    import pyarrow as pa

    names = part.column_names
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        return f"column {doubled[0]} stands twice"
    if lacking := [name for name in _NEEDED[table] if name not in names]:
        return f"it lacks the column {', '.join(lacking)}"
    wanted = {field.name: field.type for field in schema(table)}
    wanted |= dict.fromkeys(READ_MEASURES, pa.float64()) if table == "evaluations" else {}
    for name, kind in wanted.items():
        if name in names and _joined(found := part.schema.field(name).type, kind) != kind:
            return f"column {name} is {found}, not {kind}"
    if table == "trials" and (unknown := sorted(set(part["state"].to_pylist()) - set(STATES), key=str)):
        return f"column state holds {unknown[0]!r}, which is no state"
    if empty := [name for name in _FILLED[table] if part[name].null_count]:
        return f"column {empty[0]} is empty in a row"
    return ""


def _unlike(parts: Mapping[Path, pa.Table]) -> dict[Path, str]:
    """Parts with a column whose type does not go with the type that most parts give it, and the reason.

    It concerns columns beyond the table's own, such as hyperparameters and KPIs. Their types are known only from the files.
    """
    types: dict[str, Counter[pa.DataType]] = {}
    for part in parts.values():
        for field_ in part.schema:
            types.setdefault(field_.name, Counter())[field_.type] += 1
    reasons = {}
    for name, counted in types.items():
        usual = counted.most_common(1)[0][0]
        for path, part in parts.items():
            if name in part.column_names and _joined(found := part.schema.field(name).type, usual) is None:
                reasons[path] = f"column {name} is {found}, but {usual} in other files: restore the file from a copy"
    return reasons


def _joined(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Type that holds the values of both; None where there is none."""
    import pyarrow as pa

    if one == other:
        return one
    fields = [pa.schema([pa.field("column", kind)]) for kind in (one, other)]
    try:
        return pa.unify_schemas(fields, promote_options="permissive").field("column").type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None


def _frame(name: str, parts: list[pa.Table]) -> pd.DataFrame:
    """All parts of a table. It has the table's own columns, and the measures that summaries read, even if no part has them."""
    import pyarrow as pa

    table = pa.concat_tables([schema(name).empty_table(), *parts], promote_options="permissive")
    for measure in READ_MEASURES if name == "evaluations" else ():
        if measure not in table.column_names:
            table = table.append_column(measure, pa.nulls(len(table), pa.float64()))
    return table.to_pandas().sort_values(_ORDER[name], ignore_index=True)
