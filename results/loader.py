"""Load an experiment's results as pandas DataFrames; needs neither ray nor torch."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from common.paths import user_path
from common.texts import printable
from results.completeness import lacking
from results.front import front_of
from results.parts import ResultsError, read_table, unlike
from results.schema import FOLDER, READ_MEASURES, TABLES, schema
from results.writer import table_folder

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_ORDER = {"trials": ["trial"], "reports": ["trial", "update"], "evaluations": ["trial", "steps", "year"]}


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
        """Rows of the search's complete and frozen trials with a finite score, by number; see `confirmations`."""
        ended = self.trials["state"].isin(["complete", "frozen"]) & self.trials["confirms"].isna()
        return self.trials[ended & (ratings(self.trials).abs() < math.inf)]

    @property
    def front(self) -> pd.DataFrame:
        """Rows of the search's trials that no other one is better than in both of two objectives, the first's best at the top.

        None of them misses a requirement. With one objective there are none.
        """
        return front_of(self.scored)

    @property
    def confirmations(self) -> pd.DataFrame:
        """Rows of the trials that trained the best and the default again with fresh seeds, by number."""
        return self.trials[self.trials["confirms"].notna()]

    @property
    def best(self) -> pd.Series:
        """Row of the complete or frozen trial with the highest rating that is finite; see `ratings`.

        Raises:
            ResultsError: if there is none.
        """
        complete = self.scored
        if complete.empty:
            raise ResultsError(f"{self.folder}: no trial is complete yet, so there is no best one")
        return complete.iloc[int(ratings(complete).to_numpy().argmax())]


def ratings(trials: pd.DataFrame) -> pd.Series:
    """What trials are ranked by: the column `rating`, or the score where that is empty or of an older version.

    Args:
        trials: rows of the table.
    """
    return trials["rating"].fillna(trials["score"]) if "rating" in trials else trials["score"]


def load(folder: str | Path) -> Results:
    """Load an experiment.

    A part file that cannot be read, or has columns of other types than its table, is skipped. A warning names it. So does one
    where rows are missing, as after a part file was deleted.

    Args:
        folder: of the experiment.

    Raises:
        ResultsError: if the folder holds no results, or they cannot be read.
    """
    folder = user_path(folder)
    if not (folder / FOLDER).is_dir():
        raise ResultsError(f"no results in {folder}: give the folder of an experiment, such as experiments/ppo-iquitos-1")
    skipped: list[Path] = []
    tables = {}
    for name in TABLES:
        parts: dict[Path, pa.Table] = {}
        reasons: dict[Path, str] = {}
        for path in _parts(table_folder(folder, name)):
            part = read_table(path, name)
            if isinstance(part, str):
                reasons[path] = part
            else:
                parts[path] = part
        reasons |= unlike(parts)
        for path in sorted(reasons):
            warnings.warn(printable(f"skipped {path}: {reasons[path]}"), stacklevel=2)
            skipped.append(path)
        tables[name] = _frame(name, [part for path, part in parts.items() if path not in reasons])
    if not skipped:
        for line in lacking(**tables):
            warnings.warn(printable(f"{folder / FOLDER}: {line}"), stacklevel=2)
    return Results(folder, **tables, skipped=tuple(skipped))


def pareto_front(folder: str | Path) -> pd.DataFrame:
    """The front of an experiment with two objectives; see `Results.front`.

    Args:
        folder: of the experiment.

    Raises:
        ResultsError: see `load`.
    """
    return load(folder).front


def _parts(folder: Path) -> list[Path]:
    """Part files of a table; none where it has no folder yet.

    Raises:
        ResultsError: if the folder cannot be read, or is none.
    """
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".parquet")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ResultsError(f"{folder}: {error.strerror}; restore this folder, or make it readable") from error


def _frame(name: str, parts: list[pa.Table]) -> pd.DataFrame:
    """All parts of a table. It has the table's own columns, and the measures that summaries read, even if no part has them."""
    import pyarrow as pa

    table = pa.concat_tables([schema(name).empty_table(), *parts], promote_options="permissive")
    for measure in READ_MEASURES if name == "evaluations" else ():
        if measure not in table.column_names:
            table = table.append_column(measure, pa.nulls(len(table), pa.float64()))
    return table.to_pandas().sort_values(_ORDER[name], ignore_index=True)
