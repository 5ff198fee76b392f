"""What a trial of a study says: names of its attributes, and what follows from them alone: state, gains, repetitions, cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Self, TypeVar

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from envs.objective.aim import Aim
from results.loader import not_dominated, spread_out
from search_spaces import Assignment, SearchSpace
from tuning.experiment.option_values import Budget


class Key:
    """Names in a trial of a study."""

    # User attributes.
    HYPERPARAMETERS = "hyperparameters"  # the full assignment
    SAME_AS = "same_as"  # number of an earlier trial with the same assignment, which has its outcome; it was not trained
    REFUSED = "refused"  # why it does not fit into memory and was not started
    REASON = "reason"  # why it failed
    MAY_TIE = "may_tie"  # whether policies that differ may be rated equally, as by returns of an environment
    GAINS = "gains"  # of two objectives: both gains of each evaluation, by its due steps as a text
    STANDING = "standing"  # see `Standing`

    # User attributes of a trial that confirms.
    CONFIRMS = "confirms"  # number of the trial with the same assignment
    CONFIRM_RUN = "confirm_run"  # number of its seed, from 0
    CONFIRM_ROLE = "confirm_role"  # `default`, `best` or `candidate`
    CONFIRM_STEPS = "confirm_steps"  # most steps of it
    CONFIRM_AFTER = "confirm_after"  # trials and evaluations of the search itself before it began

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
Outcome = tuple[float, Gains | None]  # of an evaluation: its rating and, with two objectives, both gains


@dataclass(frozen=True)
class Standing:
    """From where a trial goes on, and how often it was begun in vain: all that is kept beside its evaluations."""

    checkpoint: int = 0  # steps of its newest checkpoint; 0 for none. What it told beyond these steps does not count
    budget: int = 0  # most steps of it when it was last handed out
    crashes: int = 0  # how often it crashed
    out_of_memory: int = 0  # how often it ran out of memory
    # Whether every hour of all of its evaluations was as on the uncontrolled site; None before the first.
    does_nothing: bool | None = None
    # Whether all of its evaluations came out as its plan alone; None before the first, and without a plan.
    keeps_plan: bool | None = None
    error: str = ""  # traceback of its last crash since it was handed out; empty for none
    # Its last evaluation: due steps, rating and gains; None before the first. It is written here together with the
    # checkpoint, and so before the study has it as an intermediate value.
    evaluated: tuple[int, float, Gains | None] | None = None

    @classmethod
    def of(cls, trial: FrozenTrial) -> Self:
        """That of a trial."""
        known = dict(trial.user_attrs.get(Key.STANDING, {}))
        if known.get("evaluated"):
            due, rating, gains = known["evaluated"]
            known["evaluated"] = int(due), float(rating), None if gains is None else (float(gains[0]), float(gains[1]))
        return cls(**known)

    def attribute(self) -> dict[str, Any]:
        """Value of the attribute."""
        return dict(vars(self))  # a tenth of the time of `asdict`, as a search writes it at each checkpoint


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


def has_plan(assignment: Assignment) -> bool:
    """Whether policies of an assignment start from a plan of model predictive control."""
    return assignment.get("plan", "none") != "none"


def was_run(trial: FrozenTrial) -> bool:
    """Whether a trial was handed out, or is to be."""
    return not {Key.SAME_AS, Key.REFUSED} & trial.user_attrs.keys()


def gains_of(trial: FrozenTrial) -> dict[int, Gains]:
    """Both gains of a trial's evaluations, by due steps; empty with one objective."""
    known: Mapping[str, Sequence[float]] = trial.user_attrs.get(Key.GAINS, {})
    return {int(steps): (float(pair[0]), float(pair[1])) for steps, pair in known.items()}


def last_rating(trial: FrozenTrial) -> float | None:
    """Rating of a trial's last evaluation; None before the first."""
    return trial.intermediate_values.get(max(trial.intermediate_values, default=0))


def last_gains(trial: FrozenTrial) -> Gains | None:
    """Both gains of a trial's last evaluation; None before the first."""
    return gains_of(trial).get(max(trial.intermediate_values, default=0))


class OfTrials(Generic[Value]):
    """Remembers what a function gives for each trial of a study, until the trial changes.

    A search looks at all of its trials at each decision, and few have changed since the last one. Optuna's storages replace a
    trial by a changed copy and never change one that they gave out. So the same object has the same content.
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


class Seen(FrozenTrial):
    """A trial for a study in memory, which copies each trial that it is given; of this one it copies no content.

    Copies of all content would take most of the time of a draw, and samplers do not change what is in a trial.
    """

    def __deepcopy__(self, memo: dict[int, object]) -> Seen:
        return copy(self)

    @classmethod
    def of(cls, trial: FrozenTrial) -> Seen:
        """A trial with the same content."""
        seen = cls.__new__(cls)
        seen.__dict__.update(trial.__dict__)
        return seen

    def __copy__(self) -> Seen:
        return Seen.of(self)


def alike(trials: Iterable[FrozenTrial]) -> frozenset[int]:
    """Numbers of trials that do the same as an earlier one: their last ratings, and both gains, are equal to the last bit.

    A policy that starts from a plan and keeps it is rated exactly as the plan is. Hundreds of assignments can do that. Where
    none is better, all of them are the best, and a sampler would propose ever more of them. So only the first counts as good.

    Policies that differ in any hour do not have equal ratings, as a rating sums thousands of hours. A trial that goes on and
    then differs is in it no longer. One that repeats an assignment, and so was not trained, is not in it. Nor is one that
    misses a requirement. One that failed or ran out of memory is no such earlier one, as samplers do not see it as good.
    """
    seen: set[Outcome] = set()
    repeating = set()
    for trial in trials:
        outcome = _last_outcome(trial)
        if outcome is None:
            continue
        if outcome in seen:
            repeating.add(trial.number)
        if trial.state is not TrialState.FAIL and not lacked_memory(trial):
            seen.add(outcome)
    return frozenset(repeating)


def repeats(trials: Iterable[FrozenTrial], least_steps: float) -> dict[int, int]:
    """Trials that have done nothing but what an earlier one does, each with the number of that one.

    That counts from `least_steps` on: a policy begins with its plan, and leaves it later.

    Returns:
        By number: trials with equal outcomes of all evaluations, which are the last outcome of an earlier trial too. That one
        runs, is frozen or is complete.
    """
    lasts: dict[Outcome, int] = {}
    first_of = {}
    for trial in trials:
        outcome = _last_outcome(trial)
        if outcome is None:
            continue
        if outcome in lasts and max(trial.intermediate_values) >= least_steps and _is_constant(trial):
            first_of[trial.number] = lasts[outcome]
        elif trial.state in CAN_BE_BEST:
            lasts.setdefault(outcome, trial.number)
    return first_of


def _last_outcome(trial: FrozenTrial) -> Outcome | None:
    """Outcome of the last evaluation; None where it says nothing of what the policy does.

    So it is before the first, where it is not finite, for a trial that was not trained, and where policies that differ may tie,
    as those do that miss a requirement by as much.
    """
    rating = last_rating(trial)
    if rating is None or {Key.SAME_AS, Key.MAY_TIE} & trial.user_attrs.keys():
        return None
    return (rating, last_gains(trial)) if math.isfinite(rating) and not Aim.is_missed(rating) else None


def _is_constant(trial: FrozenTrial) -> bool:
    return len(set(trial.intermediate_values.values())) == 1 and len(set(gains_of(trial).values())) <= 1


def on_front(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """The trials that no other one is better than in both objectives, those that stand for the whole front first.

    What has failed or was stopped, has no evaluation or misses a requirement is not among them.
    """
    rated = [
        (trial, gains)
        for trial in trials
        if trial.state in CAN_BE_BEST
        and (gains := last_gains(trial)) is not None
        and not Aim.is_missed(trial.intermediate_values[max(trial.intermediate_values)])
    ]
    if not rated:
        return []
    kept = not_dominated(np.array([gains for _, gains in rated]))
    front = [one for one, is_kept in zip(rated, kept, strict=True) if is_kept]
    return [front[place][0] for place in spread_out(np.array([gains for _, gains in front]))]


def front_of_search(trials: Sequence[FrozenTrial]) -> list[int]:
    """Numbers of the trials of a search that no other one is better than in both of two objectives.

    Those are among them that only a running trial is better than, as that one may fail.
    """
    search = [trial for trial in trials if Key.CONFIRMS not in trial.user_attrs]
    still = [trial for trial in search if trial.state is not TrialState.RUNNING]
    return list(dict.fromkeys(trial.number for some in (search, still) for trial in on_front(some)))


@dataclass(frozen=True)
class Costs:
    """Expected seconds of a step, in units of the default's.

    They come from a formula, as decisions must not depend on the clock.
    """

    space: SearchSpace  # of the experiment
    of_assignment: Callable[[Assignment], float] = lambda assignment: 1.0  # cost of a whole assignment, above 0

    @classmethod
    def under(cls, budget: Budget | None, space: SearchSpace, of_assignment: Callable[[Assignment], float]) -> Self:
        """Costs by a budget: a budget of steps, or none, counts each step alike."""
        return cls(space, of_assignment) if budget and budget.is_time else cls(space)

    @cached_property
    def assignment(self) -> OfTrials[Assignment]:
        """Whole assignment of a trial."""
        return OfTrials(lambda trial: self.space.whole(trial.user_attrs[Key.HYPERPARAMETERS]))

    @cached_property
    def of(self) -> OfTrials[float]:
        """Cost of a trial."""
        return OfTrials(lambda trial: self.of_assignment(self.assignment(trial)))


@dataclass(frozen=True)
class Affordable:
    """What a draw may cost."""

    cost: Callable[[Assignment], float]  # of an assignment, see `Costs`
    most: float  # that a draw may cost


AT_ANY_COST = Affordable(lambda assignment: 0.0, math.inf)
