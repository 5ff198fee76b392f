"""What a section of a report is about; tables that several of its figures read are computed once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from results import analysis
from results.analysis.judged import Verdict
from results.analysis.judged import verdict as verdict_of
from results.analysis.searched import aims
from results.loader import Results
from results.places import ROLLOUTS, WEEK_OF_BEST
from results.rollout import BESIDE, COLUMNS, ROLLOUT_VERSION
from results.table_files import ResultsError, read_parquet


@dataclass(frozen=True)
class Search:
    """A search."""

    results: Results
    judgement: Results | None = None  # of the page, where there is exactly one
    _tables: dict[Any, Any] = field(default_factory=dict, repr=False)

    def table(self, made: Callable[..., Any], *more: Any) -> Any:
        """What a function of `results.analysis` says of the search, computed once."""
        if made not in self._tables:
            self._tables[made] = made(self.results, *more)
        return self._tables[made]

    @cached_property
    def week(self) -> Hours | None:
        """The hardest week of the winner beside other controllers; None where it is not there, or is of another trial."""
        path = self.results.folder / ROLLOUTS / WEEK_OF_BEST
        if not path.is_file():
            return None
        week = read_rollout(path)
        return week if week.about.get("trial") == str(self.best) else None

    @property
    def aims(self) -> tuple[str, ...]:
        """See `results.analysis.searched.aims`."""
        return aims(self.results.facts)

    @property
    def best(self) -> int | None:
        """Number of the winner."""
        return self.table(analysis.best_trial)

    @property
    def lucky(self) -> pd.DataFrame:
        """See `results.analysis.luck`."""
        return self.table(analysis.luck, self.judgement)

    @property
    def confirmed(self) -> pd.DataFrame:
        """See `results.analysis.confirmed`."""
        return self.table(analysis.confirmed)


@dataclass(frozen=True)
class Judged:
    """A judgement."""

    results: Results
    experiments: tuple[Results, ...]  # of the page

    @cached_property
    def evaluations(self) -> pd.DataFrame:
        """Rows of contenders, baselines and bounds."""
        return self.results.evaluations[self.results.evaluations["contender"].notna()]

    @cached_property
    def verdict(self) -> Verdict | None:
        """The table of its verdict; None where nothing was judged."""
        return None if self.evaluations.empty else verdict_of(self.results)

    @cached_property
    def lucky(self) -> pd.DataFrame | None:
        """Contenders beside the search that they come from, on the test split; None where these are not on the page."""
        lucky = [analysis.luck(one, self.results) for one in self.experiments] if self.verdict else []
        if not any(len(one) for one in lucky):
            return None
        # Experiments of one algorithm share its default, which the judgement trained once.
        whole = pd.concat([one[one["split"] == "test"] for one in lucky], ignore_index=True)
        return whole.drop_duplicates(["name", "split"], ignore_index=True)

    @property
    def confirmed(self) -> pd.DataFrame:
        """Without a row, as a judgement confirms no trial; see `results.analysis.confirmed`."""
        return analysis.confirmed(self.results)


ONE_METER = "The site counts as one meter here: import is net import above 0."


@dataclass(frozen=True)
class Hours:
    """A rollout."""

    path: Path  # of its file
    about: dict[str, str]  # facts of the file: experiment, trial, steps, scenario, year, backend, currency
    table: pd.DataFrame  # a row an hour; see `results.rollout.COLUMNS`, and `BESIDE`


def read_rollout(path: Path) -> Hours:
    """Read a rollout. Raises ResultsError if it is damaged, none of ours, or of another version."""
    remedy = "give a file that python -m tuning.rollout wrote, or the folder of an experiment"
    content, about = read_parquet(path, remedy)
    lacking = [name for name in COLUMNS if name not in content.column_names]
    if about.get("table") != "rollout" or lacking or not len(content):
        why = f"it lacks the column {lacking[0]}" if lacking else "it has no hours" if not len(content) else "it is no rollout"
        raise ResultsError(f"{path}: {why}: {remedy}")
    if about.get("schema_version") != str(ROLLOUT_VERSION):
        raise ResultsError(f"{path}: another version of this package wrote it: write it again with python -m tuning.rollout")
    beside = [name for name in BESIDE if name in content.column_names]
    return Hours(path, about, content.select([*COLUMNS, *beside]).to_pandas())
