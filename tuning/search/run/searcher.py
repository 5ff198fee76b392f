"""Gives Ray Tune the trials of a search, and takes back how they end: an adapter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ray.tune.search import Searcher

from tuning.search.run.search import Search
from tuning.trial.protocol import DriverOnly, Ending, Report, report_in


class StudySearcher(DriverOnly, Searcher):
    """Translates Tune's calls into those of a search. It remembers which trial Tune means, and nothing else."""

    def __init__(self, search: Search) -> None:
        # Without a metric: not every report has a score.
        super().__init__()
        self._search = search
        self._numbers: dict[str, int] = {}

    def number(self, trial_id: str) -> int:
        """Number of the trial that Tune calls `trial_id`."""
        return self._numbers[trial_id]

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:  # type: ignore[override]
        """Configuration of the next trial, None while there may be one later, or FINISHED."""
        handout = self._search.hand_out()
        if handout is None:
            # A running trial may have to be handed out again.
            return None if self._search.running else str(Searcher.FINISHED)
        self._numbers[trial_id] = handout.number
        return handout.config()

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """The process of a trial has ended; one without a report never began."""
        self._search.end(self._numbers[trial_id], report_in(result) or Report(ending=Ending.STOPPED), error)

    def save(self, checkpoint_path: str) -> None:
        """Save nothing for Tune, which calls this: the study has everything."""
        Path(checkpoint_path).touch()

    def restore(self, checkpoint_path: str) -> None:
        """See `save`."""
