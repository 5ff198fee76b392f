"""What follows from a trial, computed once for each state in which it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from optuna.trial import FrozenTrial

Found = TypeVar("Found")


class OfTrials(Generic[Found]):
    """Remembers what a function gives for each trial of a study, until the trial changes.

    A search looks at all of its trials at each decision, and few have changed since the last one. Optuna's storages replace a
    trial by a changed copy and never change one that they gave out. So the same object has the same content.

    Args:
        function: of a trial alone; what it gives is not to be changed.
    """

    def __init__(self, function: Callable[[FrozenTrial], Found]) -> None:
        self._function = function
        self._known: dict[int, tuple[FrozenTrial, Found]] = {}

    def __call__(self, trial: FrozenTrial) -> Found:
        """What the function gives for a trial."""
        known = self._known.get(trial.number)
        if known is not None and known[0] is trial:
            return known[1]
        found = self._function(trial)
        self._known[trial.number] = trial, found
        return found
