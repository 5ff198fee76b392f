"""Load results of experiments as pandas DataFrames; needs neither ray nor torch."""

from __future__ import annotations

import functools
import glob
import math
import os
import sys
import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.measure import Measure
from common.texts import printable
from common.uris import is_uri, uri_of, with_uris
from results.experiment_file import Facts, read_facts
from results.frames import EXPERIMENT, Filter, checked_conditions, files_of, filtered, lacking, read_frame
from results.fresh import FreshRuns, fresh_runs
from results.places import JUDGEMENT, is_pattern, local_folder, matching
from results.schema import CANDIDATE, FOLDER, TABLES, measures_of
from results.table_files import TOGETHER, ResultsError, trial_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

FEW_FILES = 1000  # up to these, all tables are read at once
GOES_ON = "--resume continues the search, and with --retry-failed tries failed trials again"


@dataclass(frozen=True)
class Results:
    """Results of one experiment, or of several; `results.schema` describes the columns.

    Of an experiment with more than `FEW_FILES` files each table is read when it is first used. Warnings come with it.
    """

    folder: Path  # of the experiment; of several the folder that they share. Of one at a URI it is a copy on this machine.
    parts: tuple[Results, ...] = ()  # results of each experiment, where these are several
    names: tuple[str, ...] = ()  # of these, as in the column `experiment`
    _skipped: dict[str, tuple[Path, ...]] = field(default_factory=dict, repr=False)

    @functools.cached_property
    def trials(self) -> pd.DataFrame:
        """One row a trial, by number. Of several experiments `experiment` is the first column, in all tables."""
        return self._table("trials")

    @functools.cached_property
    def reports(self) -> pd.DataFrame:
        """One row an update of a trial."""
        return self._checked("reports")

    @functools.cached_property
    def evaluations(self) -> pd.DataFrame:
        """One row for each policy, split and year that was evaluated."""
        return self._checked("evaluations")

    @functools.cached_property
    def rated_evaluations(self) -> pd.DataFrame:
        """Rows of `evaluations` by which each trial of one experiment is rated, a row a year; see `kept_steps` in `trials`."""
        rows, trials = self.single.evaluations, self.trials
        rows = rows[rows["contender"].isna()]
        kept = rows["trial"].map(trials.drop_duplicates("trial").set_index("trial")["kept_steps"])
        # A row that was written again after a loss does not say.
        return rows[rows["steps"] == kept.fillna(rows.groupby("trial")["steps"].transform("max"))]

    @functools.cached_property
    def yardsticks(self) -> pd.DataFrame:
        """Rows of `evaluations` of a search that are of no trial: what policies are compared with, a row for each and year."""
        rows = self.single.evaluations
        return rows[rows["contender"].notna() & rows["trial"].isna()]

    @property
    def of_environment(self) -> bool:
        """Whether its policies act in an environment, and not on a site: then rows of `evaluations` are episodes."""
        if self.parts:
            return any(part.of_environment for part in self.parts)
        # Before a trial was evaluated its settings tell; a judgement has none, and is of what was evaluated.
        return bool(self.facts.settings.get("env")) or bool((self.evaluations["backend"] == "gymnasium").any())

    @functools.cached_property
    def measures(self) -> Mapping[str, Measure]:
        """What `evaluations` measure, by column, as their last readable file has it."""
        if self.parts:
            return {name: measure for part in self.parts for name, measure in part.measures.items()}
        import pyarrow as pa
        import pyarrow.parquet as pq

        for path in reversed(files_of(self.folder, "evaluations")):
            # Reading the table names one that is damaged.
            with suppress(pa.ArrowException, OSError):
                if measures := measures_of(pq.read_schema(path)):
                    return measures
        return {}

    @property
    def place(self) -> str:
        """What the experiment is called by: its URI, where it was loaded from one, else its folder."""
        return uri_of(self.folder) or str(self.folder)

    @property
    def skipped(self) -> tuple[Path, ...]:
        """Files that could not be used, of all tables; these are read for it."""
        if self.parts:
            return tuple(path for part in self.parts for path in part.skipped)
        for name in TABLES:
            getattr(self, name)
        return tuple(path for name in TABLES for path in self._skipped.get(name, ()))

    @property
    def experiments(self) -> tuple[Results, ...]:
        """Results of each experiment by itself."""
        return self.parts or (self,)

    @property
    def single(self) -> Results:
        """These results, where they are of one experiment. Raises ResultsError if they are of several."""
        if len(self.parts) == 1:  # that a pattern has found
            return self.parts[0]
        if self.parts:
            raise ResultsError(f"these are {len(self.parts)} experiments, and this takes one: give one of results.experiments")
        return self

    def read(self, table: str, columns: Collection[str] | None = None, filters: Sequence[Filter] | None = None) -> pd.DataFrame:
        """Some columns and rows of a table. Files of other trials are not opened. What there is not raises a ResultsError.

        Args:
            table: trials, reports or evaluations.
            columns: those that are wanted, in this order; None for all. Of several experiments `experiment` comes too.
            filters: conditions that all have to hold, such as `[("trial", "in", [0, 3]), ("steps", ">", 10_000)]`. One on
                `experiment` chooses among several, and others are not read.
        """
        if table not in TABLES:
            raise ResultsError(f"there is no table {printable(table)!r}: tables are {', '.join(TABLES)}")
        columns = [columns] if isinstance(columns, str) else columns
        _refuse(table, [str(name) for name in columns or () if not isinstance(name, str)])
        conditions = checked_conditions(table, filters)
        if self.parts:
            return self._read_several(table, columns, conditions)
        read = read_frame(self.folder, table, columns, conditions)
        _warn_of(read.skipped)
        _refuse(table, read.lacking)
        return read.frame

    def _read_several(self, table: str, columns: Collection[str] | None, conditions: Sequence[Filter]) -> pd.DataFrame:
        shown = None if columns is None else [name for name in dict.fromkeys(columns) if name != EXPERIMENT]
        filters = [condition for condition in conditions if condition[0] != EXPERIMENT]
        of_names = [condition for condition in conditions if condition[0] == EXPERIMENT]
        import pyarrow as pa

        pairs = dict(zip(self.names, self.parts, strict=True))
        chosen = filtered(table, pa.table({EXPERIMENT: self.names}), of_names)[EXPERIMENT].to_pylist()
        # Where none is chosen, the tables still tell what columns there are.
        reads = [read_frame(pairs[name].folder, table, shown, filters) for name in chosen or pairs]
        for read in reads:
            _warn_of(read.skipped)
        _refuse(table, [name for name in reads[0].lacking if all(name in read.lacking for read in reads)])
        whole = _together([*(chosen or pairs)], [read.frame for read in reads])
        if columns is not None and EXPERIMENT in columns:
            whole = whole[list(dict.fromkeys(columns))]
        return whole if chosen else whole.iloc[:0]

    @property
    def scored(self) -> pd.DataFrame:
        """Rows of the search's complete and frozen trials that were trained and have a finite score, by number."""
        ended = self.trials["state"].isin(["complete", "frozen"]) & self.trials["confirms"].isna()
        ended &= self.trials["same_as"].isna()
        return self.trials[ended & (ratings(self.trials).abs() < math.inf)]

    @property
    def front(self) -> pd.DataFrame:
        """Of two objectives: rows of the admissible trials that no other is better than in both, by first gain."""
        scored = self.scored
        rated = scored[scored[list(GAINS)].notna().all(axis=1) & ~(scored["shortfall"] > 0.0)]
        front = rated[not_dominated(rated[list(GAINS)].to_numpy(dtype=float))]
        return front.sort_values(["gain", "trial"], ascending=[False, True])

    @property
    def confirmations(self) -> pd.DataFrame:
        """Rows of the trials that trained the best and the default again with fresh seeds, by number; see `candidates`."""
        return self.trials[self.trials["confirms"].notna() & (self.trials["confirm_role"] != CANDIDATE)]

    @property
    def candidates(self) -> pd.DataFrame:
        """Rows of the trials that trained the best of the search once more, to choose which `confirmations` train."""
        return self.trials[self.trials["confirm_role"] == CANDIDATE]

    @property
    def fresh(self) -> FreshRuns:
        """Of the `confirmations` those that ended, by assignment. Only those with the steps of now count, see `steps`."""
        again = self.confirmations
        return fresh_runs(again.assign(rating=ratings(again)), self.steps)

    @property
    def facts(self) -> Facts:
        """What the folder of one experiment tells beside the tables, as it is now."""
        return read_facts(self.single.folder)

    @functools.cached_property
    def steps(self) -> int | None:
        """Most steps of a trial, as the experiment has them now; None where its folder does not tell."""
        steps = self.facts.settings.get("steps")
        return steps if isinstance(steps, int) else None

    @property
    def recommended(self) -> pd.Series:
        """Row of a trial with the hyperparameters to take: those with the best mean of trainings with fresh seeds.

        It is the first of these; its `confirms` names the trial of the search. Without them it is `best`, lucky in part.
        """
        number = self.fresh.recommended
        if number is None:
            return self.best
        again = self.fresh.complete[number]
        return self.trials[self.trials["trial"] == again["trial"].min()].iloc[0]

    @property
    def best(self) -> pd.Series:
        """Row of the complete or frozen trial that `ranked` puts first; a ResultsError without any, or of several sites."""
        of_sites = self.best_of_sites
        if of_sites.empty and (self.folder / JUDGEMENT).is_file():
            raise ResultsError(f"{self.folder} is a judgement, which has no best trial: results.judgement makes its table")
        if of_sites.empty:
            raise ResultsError(f"{self.folder}: no trial is complete yet, so there is no best one; {GOES_ON}")
        if len(of_sites) > 1:
            names = ", ".join(map(printable, of_sites["scenario"]))
            raise ResultsError(f"ratings on several sites ({names}) do not compare: best_of_sites has the best of each")
        return of_sites.iloc[0]

    @property
    def best_of_sites(self) -> pd.DataFrame:
        """Rows of the trial that `ranked` puts first on each site, by `scenario`."""
        return ranked(self.scored).drop_duplicates("scenario").sort_values("scenario", kind="stable")

    def _table(self, name: str) -> pd.DataFrame:
        if self.parts:
            return _together(self.names, [getattr(part, name) for part in self.parts])
        read = read_frame(self.folder, name)
        _warn_of(read.skipped)
        self._skipped[name] = tuple(sorted(read.skipped))
        frame = read.frame
        if "scenario" in frame and frame["scenario"].nunique() > 1:
            # An experiment has one site. If its files were moved, later rows have another path.
            frame["scenario"] = frame["scenario"].iloc[0]
        return frame

    def _checked(self, name: str) -> pd.DataFrame:
        """A table; once all three are in memory, what they lack is told."""
        frame = self._table(name)
        tables: dict[str, Any] = {**{other: self.__dict__.get(other) for other in TABLES}, name: frame}
        is_whole = not self.parts and all(table is not None for table in tables.values())
        if is_whole and not any(self._skipped.values()):
            for line in lacking(**tables):
                _warn(f"{self.folder / FOLDER}: {line}")
        return frame


def ratings(trials: pd.DataFrame) -> pd.Series:
    """What trials are ranked by: the column `rating`, or the score where that is empty."""
    return trials["rating"].fillna(trials["score"])


def ranked(trials: pd.DataFrame) -> pd.DataFrame:
    """Rows of trials, the best rating first; of equals in their order.

    Of an environment those come after the others that no further episodes rate at a search's end: in few they were lucky.
    """
    import pandas as pd

    few, missed = trials["further_episodes"] == 0, trials["shortfall"] > 0.0
    keys = pd.DataFrame({"missed": missed, "few": few, "rating": -ratings(trials).astype(float)})
    return trials.loc[keys.sort_values(["missed", "few", "rating"], kind="stable").index]


def load(folder: str | Path | Sequence[str | Path]) -> Results:
    """Load an experiment, or several.

    A file that cannot be read, or has columns of other types than its table, is skipped. A warning names it. So does one where
    rows are missing, as after a file was deleted. Raises ResultsError if a folder holds no results, a pattern finds none, or
    they cannot be read. Raises StorageError if a URI is none, or what it names cannot be read.

    Args:
        folder: of the experiment; its URI, such as `s3://bucket/experiments/ppo-1`; a pattern such as `experiments/ppo-*`; or a
            list of these. A pattern, or a list, gives results with a column `experiment`: the name of the folder, or where two
            have the same name its path or URI. What is new or changed at a URI is copied to this machine first.
    """
    if not isinstance(folder, str | Path):
        folders = [path for each in folder for path in _found(each)]
        return _several(list(dict.fromkeys(folders)))
    return _several(_found(folder)) if is_pattern(folder) else _one(local_folder(folder))


def _found(given: str | Path) -> list[Path]:
    if not is_pattern(given):
        return [local_folder(given)]
    if is_uri(given):
        return [local_folder(uri) for uri in matching(str(given))]
    try:
        names = glob.glob(os.path.expanduser(given))  # noqa: PTH111, PTH207
    except ValueError:
        names = []  # no name holds a null character
    folders = sorted(Path(each) for each in names if (Path(each) / FOLDER).is_dir())
    if not folders:
        raise ResultsError(f"{printable(str(given))}: no folder of an experiment has such a name")
    return folders


def names_of(folders: Sequence[Path]) -> tuple[str, ...]:
    """A name for each folder: its own, or where two have the same its path as it was given, or its URI."""
    names = [folder.resolve().name for folder in folders]
    return tuple(uri_of(one) or str(one) if names.count(name) > 1 else name for one, name in zip(folders, names, strict=True))


def _several(folders: list[Path]) -> Results:
    if not folders:
        raise ResultsError("no experiments are given: name their folders, or a pattern such as experiments/ppo-*")
    shared = folders[0].parent
    if len(folders) > 1:
        # Folders on two drives of Windows share none.
        with suppress(ValueError):
            shared = Path(os.path.commonpath([path.absolute() for path in folders]))
    return Results(shared, parts=tuple(map(_one, folders)), names=names_of(folders))


def _together(names: Sequence[str], frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    # Copied, as pandas warns of frames that were put together column by column.
    named = [frame.copy().assign(**{EXPERIMENT: name}) for name, frame in zip(names, frames, strict=True)]
    filled = [frame for frame in named if len(frame)] or named[:1]
    # Concatenated with their own columns only: an empty column of one experiment would decide the type of all.
    whole = pd.concat([frame.dropna(axis="columns", how="all") for frame in filled], ignore_index=True)
    columns = list(dict.fromkeys(str(column) for frame in named for column in frame))
    return whole.reindex(columns=[EXPERIMENT, *(column for column in columns if column != EXPERIMENT)])


def _one(folder: Path) -> Results:
    # A judgement has that folder from its first evaluation on.
    if not (folder / FOLDER).is_dir() and not (folder / JUDGEMENT).is_file():
        raise ResultsError(f"no results in {folder}: give the folder of an experiment, such as experiments/ppo-iquitos-1")
    results = Results(folder)
    if sum(len(files_of(folder, name)) for name in TABLES) <= FEW_FILES:
        _ = results.trials, results.reports, results.evaluations
    return results


def _warn_of(reasons: dict[Path, str]) -> None:
    for path in sorted(reasons):
        first = trial_of(path.stem) if path.parent.name == "trials" else None
        hidden = "" if first is None else f"; trials {first} to {first + TOGETHER - 1} are left out, as far as there are any"
        _warn(f"skipped {path}: {reasons[path]}{hidden}")


def _warn(line: str) -> None:
    """Warn at the line of the caller, the first one outside of this module and of `functools`."""
    files, level, caller = (__file__, functools.__file__), 1, sys._getframe()
    while caller.f_back is not None and caller.f_code.co_filename in files:
        level, caller = level + 1, caller.f_back
    warnings.warn(printable(with_uris(line)), stacklevel=level)


def _refuse(table: str, lacking: Sequence[str]) -> None:
    if lacking:
        raise ResultsError(f"{table} has no column {printable(lacking[0])!r}: docs/reference/columns.md has its columns")


GAINS = ("gain", "gain_2")


def not_dominated(gains: np.ndarray) -> np.ndarray:
    """Which points (points, objectives), more is better, no other point dominates; of equal points all are, or none."""
    import numpy as np

    kept = np.ones(len(gains), bool)
    # Point by point: all pairs at once would take memory with the square of the points.
    for place, point in enumerate(gains):
        better = (gains >= point).all(axis=1) & (gains > point).any(axis=1)
        kept[place] = not better.any()
    return kept


def spread_out(gains: np.ndarray) -> list[int]:
    """Places of the members (members, objectives) in an order in which the first few stand for all of the front.

    The first has the greatest mean gain, each next one is farthest from those before.
    """
    import numpy as np

    if not len(gains):
        return []
    width = np.ptp(gains, axis=0)
    places = gains / np.where(width > 0.0, width, 1.0)
    order = [int(gains.mean(axis=1).argmax())]
    while len(order) < len(gains):
        distances = np.linalg.norm(places[:, np.newaxis] - places[order], axis=2).min(axis=1)
        distances[order] = -1.0
        order.append(int(distances.argmax()))
    return order
