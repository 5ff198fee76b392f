"""What a trial of a study says: names of its attributes, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Generic, Self, TypeVar

from optuna.trial import FrozenTrial, TrialState

# User attributes.
HYPERPARAMETERS = "hyperparameters"  # the full assignment
SAME_AS = "same_as"  # number of an earlier trial with the same assignment, which has its outcome; it was not trained
REFUSED = "refused"  # why it does not fit into memory and was not started
REASON = "reason"  # why it failed
GAINS = "gains"  # of two objectives: both gains of each evaluation, by its due steps as a text
STANDING = "standing"  # see `Standing`

# User attributes of a trial that confirms.
CONFIRMS = "confirms"  # number of the trial with the same assignment
CONFIRM_RUN = "confirm_run"  # number of its seed, from 0
CONFIRM_ROLE = "confirm_role"  # `default`, `best` or `candidate`
CONFIRM_STEPS = "confirm_steps"  # most steps of it
CONFIRM_AFTER = "confirm_after"  # evaluations of the search itself before it began

# Constraints, each violated above 0. Optuna lets none be set twice.
# Free memory is no constraint: it differs from hour to hour, and a search that goes on draws what it would have drawn.
PREDICTED = "predicted memory"  # missing bytes, 0 where none are
MEASURED = "measured memory"  # missing bytes, after it ran out of memory
REQUIRED = "requirements"  # by how much they are missed
ALIKE = "does what an earlier trial does"

# States of a trial that is, or may become, the best of a search. One that a pruner stopped, or that ran out of memory, is not.
CAN_BE_BEST = (TrialState.RUNNING, TrialState.WAITING, TrialState.COMPLETE)

Gains = tuple[float, float]
Value = TypeVar("Value")


@dataclass(frozen=True)
class Standing:
    """From where a trial goes on, and how often it was begun in vain: all that is kept beside its evaluations.

    Attributes:
        checkpoint: steps of its newest checkpoint; 0 for none. What it told beyond these steps does not count.
        budget: most steps of it when it was last handed out.
        crashes: how often it crashed.
        out_of_memory: how often it ran out of memory.
        does_nothing: whether every hour of all of its evaluations was as on the uncontrolled site; None before the first.
        error: traceback of its last crash since it was handed out; empty for none.
        evaluated: its last evaluation: due steps, rating and gains; None before the first. It is written here together with the
            checkpoint, and so before the study has it as an intermediate value.
    """

    checkpoint: int = 0
    budget: int = 0
    crashes: int = 0
    out_of_memory: int = 0
    does_nothing: bool | None = None
    error: str = ""
    evaluated: tuple[int, float, Gains | None] | None = None

    @classmethod
    def of(cls, trial: FrozenTrial) -> Self:
        """That of a trial."""
        known = dict(trial.user_attrs.get(STANDING, {}))
        if known.get("evaluated"):
            due, rating, gains = known["evaluated"]
            known["evaluated"] = int(due), float(rating), None if gains is None else (float(gains[0]), float(gains[1]))
        return cls(**known)

    def attribute(self) -> dict[str, Any]:
        """Value of the attribute."""
        return asdict(self)


def lacked_memory(trial: FrozenTrial) -> bool:
    """Whether a trial did not fit into memory: by prediction, or as it ran out of it."""
    return any(excess > 0 and "memory" in name for name, excess in trial.constraints.items())


def state_of(trial: FrozenTrial) -> str:
    """State of a trial in the results."""
    if trial.state is TrialState.PRUNED and lacked_memory(trial):
        return "oom"
    return {
        TrialState.RUNNING: "running",
        TrialState.WAITING: "frozen",
        TrialState.COMPLETE: "complete",
        TrialState.PRUNED: "pruned",
        TrialState.FAIL: "failed",
    }[trial.state]


def was_run(trial: FrozenTrial) -> bool:
    """Whether a trial was handed out, or is to be."""
    return not {SAME_AS, REFUSED} & trial.user_attrs.keys()


def gains_of(trial: FrozenTrial) -> dict[int, Gains]:
    """Both gains of a trial's evaluations, by due steps; empty with one objective."""
    known: Mapping[str, Sequence[float]] = trial.user_attrs.get(GAINS, {})
    return {int(steps): (float(pair[0]), float(pair[1])) for steps, pair in known.items()}


def last_gains(trial: FrozenTrial) -> Gains | None:
    """Both gains of a trial's last evaluation; None before the first."""
    return gains_of(trial).get(max(trial.intermediate_values, default=0))


class OfTrials(Generic[Value]):
    """Remembers what a function gives for each trial of a study, until the trial changes.

    A search looks at all of its trials at each decision, and few have changed since the last one. Optuna's storages replace a
    trial by a changed copy and never change one that they gave out. So the same object has the same content.

    Args:
        function: of a trial alone; what it gives is not to be changed.
    """

    def __init__(self, function: Callable[[FrozenTrial], Value]) -> None:
        self._function = function
        self._known: dict[int, tuple[FrozenTrial, Value]] = {}

    def __call__(self, trial: FrozenTrial) -> Value:
        """What the function gives for a trial."""
        known = self._known.get(trial.number)
        if known is not None and known[0] is trial:
            return known[1]
        value = self._function(trial)
        self._known[trial.number] = trial, value
        return value
