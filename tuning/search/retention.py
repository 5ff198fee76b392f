"""Which ended trials keep their checkpoints."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tuning.experiment.folder import ExperimentPaths
from tuning.trial.checkpoint import Checkpoints


class Retention:
    """Removes checkpoints of trials that ended and are not among the best.

    Args:
        paths: of the experiment.
        kept: number of trials that keep theirs, see `Settings.kept_trials`.
        scores: of the trials that ended before, by number; None for those that have none.
    """

    def __init__(self, paths: ExperimentPaths, kept: float, scores: Mapping[int, float | None]) -> None:
        self._paths, self._kept = paths, kept
        self._scores = dict(scores)
        self._remove()

    def ended(self, number: int, score: float | None) -> None:
        """Take in a trial that ended.

        Args:
            number: of the trial.
            score: its last; None where it is to keep nothing.
        """
        self._scores[number] = score
        self._remove()

    def _remove(self) -> None:
        scored = [(score, -number) for number, score in self._scores.items() if score is not None and math.isfinite(score)]
        # Of equal ones the earlier trial.
        scored.sort(reverse=True)
        best = {-number for _, number in scored[: len(scored) if math.isinf(self._kept) else int(self._kept)]}
        for number in self._scores.keys() - best:
            Checkpoints(self._paths.checkpoints(number)).remove()
