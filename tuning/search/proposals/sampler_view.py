"""What a sampler sees of the trials before the one that it proposes.

Optuna's samplers differ in what they read: its Gaussian process reads complete trials alone, and needs the same constraints of
each. So all of them see the same view. Nothing in the study changes.

| trial | seen as |
|---|---|
| complete | complete |
| stopped by the pruner | complete, with its last value |
| refused, or out of memory | complete, with a violated constraint; its value is the middle of the others, which says nothing |
| frozen | complete, with its last value; without an evaluation running |
| frozen, and missed a requirement when last evaluated | as if refused, unless a value for it is given |
| running | running, unless a value for it is given |
| failed | failed, which samplers ignore |
| does the same as an earlier one, see `tuning.search.record.trials` | as above, with a violated constraint |
"""

import math
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import datetime
from operator import itemgetter
from statistics import median
from types import MappingProxyType

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from envs.objective.aim import Aim
from search_spaces import SearchSpace
from tuning.search.models.curve_model import Point
from tuning.search.record.trials import Key, Seen, alike, last_gains, last_rating

# Of trials by number: what counts of each, a pair with two objectives.
Values = Mapping[int, float | tuple[float, ...]]
BEST_SHOWN = 4  # of so many trials that a sampler is shown of too many, one is among the best
_SEEN_STATES = (TrialState.COMPLETE, TrialState.PRUNED)


def as_seen(
    known: Sequence[FrozenTrial],
    point_of: Callable[[FrozenTrial], Point | None],
    distributions: Mapping[str, BaseDistribution],
    values: Values = MappingProxyType({}),
    objectives: int = 1,
    most: float = math.inf,
) -> list[FrozenTrial]:
    """Trials as a sampler sees them.

    Parameters are the points of the trials' assignments in today's distributions, or the nearest ones. So a trial counts that
    began outside of them, and so does one of a smaller budget.

    Args:
        known: all trials of the study, by number.
        point_of: gives the point of a trial's assignment, see `point_in`.
        distributions: that are drawn from, by inner name, see `SearchSpace.distributions`.
        values: of trials, by number, such as what a model expects of one that has not ended. They replace the trial's own, and
            a running trial with one is seen as complete. By default the last value counts.
        objectives: with two, each trial has both gains as its values.
        most: trials that are shown. Of more, those that run, the best quarter of that number, and others spread evenly.
    """
    known = [_with_requirements(trial) for trial in known]
    shared = dict(distributions)
    counted = {trial.number: _values(trial, values, objectives) for trial in known}
    finite = [each for each in counted.values() if each is not None]
    neutral = tuple(map(median, zip(*finite, strict=True))) if finite else (0.0,) * objectives
    repeats = alike(known)
    names = dict.fromkeys([*(name for trial in known for name in trial.constraints), *([Key.ALIKE] if repeats else [])])
    shown = known if len(known) <= most else [known[place] for place in _most_telling(known, counted, repeats, int(most))]
    return [_seen(trial, point_of(trial), shared, counted[trial.number], neutral, names, repeats) for trial in shown]


def _most_telling(
    known: Sequence[FrozenTrial], counted: Mapping[int, tuple[float, ...] | None], repeats: Set[int], most: int
) -> list[int]:
    """Places of the trials that a sampler is shown of too many, rising."""
    running = {place for place, trial in enumerate(known) if trial.state is TrialState.RUNNING}
    rated = [(place, values) for place, trial in enumerate(known) if (values := counted[trial.number]) is not None]
    feasible = [pair for pair in rated if not _is_violated(known[pair[0]]) and known[pair[0]].number not in repeats]
    # With two objectives the best in each of them, and by both.
    objectives = len(rated[0][1]) if rated else 1
    looks = [sum, *map(itemgetter, range(objectives))] if objectives > 1 else [sum]
    kept = set(running)
    for look in looks:
        best = sorted(feasible, key=lambda pair, look=look: (-look(pair[1]), pair[0]))  # type: ignore[misc]
        kept.update(place for place, _ in best[: most // BEST_SHOWN // len(looks)])
    rest = [place for place in range(len(known)) if place not in kept]
    room = max(0, most - len(kept))
    kept.update(rest[place * len(rest) // room] for place in range(min(room, len(rest))))
    return sorted(kept)


def point_in(trial: FrozenTrial, space: SearchSpace, distributions: Mapping[str, BaseDistribution]) -> Point | None:
    """The point of a trial's assignment in today's distributions, or the nearest one; None for one without an assignment."""
    assignment = trial.user_attrs.get(Key.HYPERPARAMETERS)
    return space.point(assignment, distributions) if isinstance(assignment, dict) else None


def _values(trial: FrozenTrial, values: Values, objectives: int) -> tuple[float, ...] | None:
    """What counts of a trial, one number for each objective; None where nothing does."""
    if trial.state is TrialState.FAIL or (trial.state is TrialState.PRUNED and _is_violated(trial)):
        return None
    if trial.number in values:
        given = values[trial.number]
        return given if isinstance(given, tuple) else (given,)
    is_complete = trial.state is TrialState.COMPLETE
    # A rating of one that misses requirements is far below all values, see `envs.objective.aim`.
    if not is_complete and (trial.state is TrialState.RUNNING or _is_violated(trial)):
        return None
    if objectives > 1:
        return last_gains(trial)
    value = trial.value if is_complete else last_rating(trial)
    return (value,) if value is not None and math.isfinite(value) else None


def _with_requirements(trial: FrozenTrial) -> FrozenTrial:
    """A trial that tells by how much it misses the requirements so far; the study is told of that when a trial ends."""
    last = last_rating(trial)
    if trial.state not in (TrialState.RUNNING, TrialState.WAITING) or last is None or not Aim.is_missed(last):
        return trial
    told = Seen.of(trial)
    told.system_attrs = dict(trial.system_attrs)
    told.set_constraint(Key.REQUIRED, Aim.shortfall_of(last))
    return told


def _seen(
    trial: FrozenTrial,
    point: Point | None,
    distributions: dict[str, BaseDistribution],
    counted: tuple[float, ...] | None,
    neutral: tuple[float, ...],
    names: Mapping[str, None],
    repeats: Set[int],
) -> FrozenTrial:
    seen = Seen.of(trial)
    seen.system_attrs = dict(trial.system_attrs)
    if point is not None:
        seen.distributions = distributions
        seen.params = dict(point)
    if seen.state is TrialState.WAITING:
        # Optuna would hand a waiting trial out.
        seen.state = TrialState.RUNNING
    is_lost = trial.state in (TrialState.PRUNED, TrialState.WAITING) and _is_violated(trial)
    if counted is not None or is_lost:
        seen.state, seen.values = TrialState.COMPLETE, list(neutral if counted is None else counted)
        seen.datetime_complete = trial.datetime_complete or trial.datetime_start or datetime.now()
    if seen.state in _SEEN_STATES:
        if trial.number in repeats:
            seen.set_constraint(Key.ALIKE, 1.0)
        for name in names:
            if name not in seen.constraints:
                # It was not told, so nothing is known against the trial.
                seen.set_constraint(name, 0.0)
    return seen


def _is_violated(trial: FrozenTrial) -> bool:
    return any(excess > 0 for excess in trial.constraints.values())
