"""Trainings of the best of a search and of the default again, with fresh seeds: all that is said of them begins here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from results.statistics import Interval

DEFAULT = "default"  # role of the trainings of the default
LEAST_RUNS = 2  # trainings of an assignment with which its mean is told
_ENDED_EARLY = ("failed", "oom", "pruned")


@dataclass(frozen=True)
class FreshRuns:
    """Trainings that were ended, by the number of the trial with their assignment; -1 is a default that was not tried."""

    complete: dict[int, pd.DataFrame]  # rows of those that reached the end, by the numbers of their seeds
    ended_early: dict[int, int]  # how many did not: they failed, did not fit into memory, or were stopped
    default: int | None  # number of the default; None where it was not trained again

    @property
    def control(self) -> int | None:
        """Number of the default, where at least one of its trainings reached the end."""
        return self.default if self.default in self.complete else None

    @property
    def contenders(self) -> list[int]:
        """Numbers of the others, rising."""
        return [number for number in sorted(self.complete) if number != self.control]

    @property
    def ordered(self) -> list[int]:
        """All numbers, that of the default first."""
        return ([] if self.control is None else [self.control]) + self.contenders

    @property
    def sound(self) -> list[int]:
        """Numbers of the contenders of which each training reached the end and met the requirements.

        The mean of those that are left would be lucky, as bad trainings are the ones that end early.
        """
        return [number for number in self.contenders if not self.ended_early[number] and not self.missed(number)]

    @property
    def broken(self) -> list[int]:
        """Numbers of the assignments that have no mean to tell, as too many of their trainings did not reach the end."""
        trained = {number: len(self.complete.get(number, ())) for number in sorted(self.ended_early)}
        return [number for number, runs in trained.items() if runs < LEAST_RUNS <= runs + self.ended_early[number]]

    def missed(self, number: int) -> int:
        """How many of the complete trainings of an assignment miss a requirement."""
        return int((self.complete[number]["shortfall"].astype(float) > 0.0).sum())

    def confidence(self, objectives: int = 1) -> float:
        """Of each interval of a difference from the default, so that all of them hold together with 95 % (Bonferroni)."""
        from results.statistics import CONFIDENCE  # NumPy, which those who watch a search need not wait for

        compared = sum(len(self.complete[number]) >= LEAST_RUNS for number in self.contenders)
        return 1.0 - (1.0 - CONFIDENCE) / max(1, objectives * compared)

    def pairs(self, number: int) -> tuple[pd.DataFrame, pd.DataFrame] | None:
        """Complete trainings of a contender and of the default with the same seeds; None where they are not compared."""
        if self.control is None or number not in self.sound or self.missed(self.control):
            return None
        contender, default = self.complete[number], self.complete[self.control]
        seeds = contender.index.intersection(default.index)
        return (contender.loc[seeds], default.loc[seeds]) if len(seeds) >= LEAST_RUNS else None

    def difference(self, number: int, column: str = "rating", objectives: int = 1) -> Interval | None:
        """Mean difference of a contender from the default over `pairs`, by `confidence`; None where they are not compared."""
        from results.statistics import paired_mean

        if not (pairs := self.pairs(number)):
            return None
        contender, default = (side[column].to_numpy(float) for side in pairs)
        return paired_mean(contender, default, self.confidence(objectives))

    @property
    def recommended(self) -> int | None:
        """Number of the assignment with the best mean rating: the default, or one that is `sound`.

        None where nothing beside the default was trained again twice.
        """
        told = self.at_least(LEAST_RUNS)
        if not told.contenders:
            return None
        default = [told.control] if told.control is not None and not told.missed(told.control) else []
        means = {number: float(told.complete[number]["rating"].mean()) for number in [*default, *told.sound]}
        return max(means, key=means.__getitem__, default=None)

    def at_least(self, runs: int) -> FreshRuns:
        """The assignments with at least so many complete trainings."""
        complete = {number: rows for number, rows in self.complete.items() if len(rows) >= runs}
        return FreshRuns(complete, self.ended_early, self.default)


def of_length(rows: pd.DataFrame, steps: int | None) -> pd.DataFrame:
    """Rows of trainings that were to have so many steps, as those of other lengths are not comparable."""
    lengths = rows["budget_steps"]
    return rows[lengths == (lengths.max() if steps is None else steps)] if lengths.notna().any() else rows


def fresh_runs(confirmations: pd.DataFrame, steps: int | None = None) -> FreshRuns:
    """Fresh trainings, by assignment."""
    ended = of_length(confirmations[confirmations["state"].isin(["complete", *_ENDED_EARLY])], steps)
    complete, ended_early, default = {}, {}, None
    for key, rows in ended.groupby(ended["confirms"].astype("int64")):
        number = int(str(key))
        whole = rows[rows["state"] == "complete"]
        ended_early[number] = len(rows) - len(whole)
        default = number if rows["confirm_role"].iloc[0] == DEFAULT else default
        if len(whole):
            complete[number] = whole.set_index("confirm_run")
    return FreshRuns(complete, ended_early, default)
