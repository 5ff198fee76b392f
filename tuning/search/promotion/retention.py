"""Which checkpoints trials keep that do not run."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping

from tuning.experiment.folder import ExperimentPaths
from tuning.trial.checkpoint import Checkpoints, KeptCheckpoints


class Retention:
    """Removes checkpoints of ended trials that are not among the best, and all but the newest of frozen ones.

    It does so at `enforce`, and when a trial has ended or is frozen. The second newest is for a kill while one is written.

    Args:
        paths: of the experiment.
        kept: number of trials that keep their checkpoints, see `Settings.kept_trials`.
        scores: of the trials that ended before, by number; None or NaN for those without one.
        frozen: numbers of the trials that were frozen before.
        spared: gives numbers of trials that keep theirs beside the best, such as those on the front of two objectives.
        checkpoints: those of a trial by its number; by default those in the experiment's folder.
    """

    def __init__(
        self,
        paths: ExperimentPaths,
        kept: float,
        scores: Mapping[int, float | None],
        frozen: Collection[int] = (),
        spared: Callable[[], Collection[int]] = tuple,
        checkpoints: Callable[[int], KeptCheckpoints] | None = None,
    ) -> None:
        self._kept, self._spared = kept, spared
        self._checkpoints = checkpoints or (lambda number: Checkpoints(paths.checkpoints(number)))
        self._scores, self._frozen = dict(scores), tuple(frozen)
        self._removed: set[int] = set()  # numbers of the trials that have none any more

    def on_ended(self, number: int, score: float | None) -> None:
        """Add a trial that ended, and remove the checkpoints that are not kept any more.

        Args:
            number: of the trial.
            score: its last; None if its checkpoints are not kept in any case.
        """
        self._scores[number] = score
        self._removed.discard(number)
        self._remove()

    def on_frozen(self, number: int) -> None:
        """Remove the older checkpoints of a trial that was frozen: it goes on from its newest."""
        self._checkpoints(number).keep_one()

    def enforce(self) -> None:
        """Remove the checkpoints that are not kept."""
        for number in self._frozen:
            self.on_frozen(number)
        self._remove()

    def _remove(self) -> None:
        """Remove those of ended trials that are not kept."""
        for number in not_kept(self._scores, self._kept).difference(self._spared(), self._removed):
            self._checkpoints(number).remove()
            self._removed.add(number)


def not_kept(scores: Mapping[int, float | None], kept: float) -> set[int]:
    """Numbers of the ended trials that lose their checkpoints.

    Args:
        scores: of all ended trials, by number; None for those without one.
        kept: how many of the best keep theirs; infinite for all that have a finite score.
    """
    scored = [(score, -number) for number, score in scores.items() if score is not None and math.isfinite(score)]
    # Of equal ones the earlier trial.
    scored.sort(reverse=True)
    best = {-number for _, number in scored[: len(scored) if math.isinf(kept) else int(kept)]}
    return set(scores) - best
