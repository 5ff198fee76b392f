"""Draws beside the sampler: around what is known to work, and from the whole space.

With few trials a search gains more near the start assignments and the best trial so far than in the whole space (PriorBand,
Mallik et al. 2023). With many it should not depend on them, so their share of the draws fades.

A model of few trials hardly ever proposes a choice that none of them has. So a part of the other draws is from the whole space,
all the time (as in BOHB, Falkner et al. 2018). These prefer choices that few trials have, so each is tried early. Both stand
beside any sampler but `random`, which stays what its name says.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler
from optuna.trial import FrozenTrial, TrialState

from results.loader import not_dominated

Point = dict[str, float | int | str]

FIRST_SHARE = 0.6  # of the draws, at first
BEST_PART = 0.5  # of these, around the best trial so far
MOVED_PART, STEP = 0.5, 0.2  # numbers that are moved, and how far: deviation as a part of the range
CHANGED_PART = 0.15  # choices that are drawn anew
WHOLE_PART = 0.25  # of the draws that are not around what is known, from the whole space
ENOUGH = 3  # trials with a choice, from which on draws from the whole space prefer it no more


def propose(
    number: int, startup: int, seen: Sequence[FrozenTrial], starts: Sequence[Point],
    distributions: Mapping[str, BaseDistribution], random: np.random.Generator,
) -> Point | None:  # fmt: skip
    """A point around what is known or of the whole space; None where the sampler proposes."""
    if random.random() >= share(number, startup):
        return anywhere(distributions, seen, random) if random.random() < WHOLE_PART else None
    near = centre(seen, starts, random)
    return around(near, distributions, random) if near else None


def share(number: int, startup: int) -> float:
    """Part of the draws that come from around what is known.

    It has halved after twice the trials before the sampler's model.
    """
    return float(FIRST_SHARE * 0.5 ** (number / (2.0 * startup)))


def feasible(seen: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """Trials that are complete and violate nothing."""
    return [each for each in seen if each.state is TrialState.COMPLETE and all(x <= 0 for x in each.constraints.values())]


def centre(seen: Sequence[FrozenTrial], starts: Sequence[Point], random: np.random.Generator) -> Point | None:
    """What to draw around; None where nothing is known."""
    rated = feasible(seen)
    if any(len(trial.values) > 1 for trial in rated):
        # Of a front any member, as draws around one alone would leave out the others.
        front = not_dominated(np.array([trial.values for trial in rated]))
        members = [trial for trial, is_member in zip(rated, front, strict=True) if is_member]
        best: FrozenTrial | None = members[int(random.integers(len(members)))]
    else:
        best = max(rated, key=lambda trial: (trial.value, -trial.number), default=None)
    if best is not None and (not starts or random.random() < BEST_PART):
        return dict(best.params)
    return dict(starts[int(random.integers(len(starts)))]) if starts else None


def anywhere(distributions: Mapping[str, BaseDistribution], seen: Sequence[FrozenTrial], random: np.random.Generator) -> Point:
    """A point of the whole space: numbers are uniform in what is drawn, and choices that few trials have are more likely.

    The weight of a choice is 1 / (1 + n), where n trials have it. From `ENOUGH` trials on it is no lower.
    """
    study = optuna.create_study(sampler=RandomSampler(int(random.integers(2**32))))
    point: Point = study.ask(dict(distributions)).params
    for name, within in distributions.items():
        if isinstance(within, CategoricalDistribution):
            tried = Counter(trial.params[name] for trial in seen if name in trial.params)
            weights = np.array([1.0 / (1 + min(tried[choice], ENOUGH)) for choice in within.choices])
            point[name] = _choice(within, random, weights / weights.sum())
    return point


def around(point: Point, distributions: Mapping[str, BaseDistribution], random: np.random.Generator) -> Point:
    """A point near another one; at least one of its numbers or choices differs, if any can."""
    free = {name: within for name, within in distributions.items() if not within.single()}
    if not free:
        return dict(point)
    while True:
        moved = {name: _moved(point[name], within, random) if name in free else point[name]
                 for name, within in distributions.items()}  # fmt: skip
        if moved != point:
            return moved


def _moved(value: float | int | str, within: BaseDistribution, random: np.random.Generator) -> float | int | str:
    if isinstance(within, CategoricalDistribution):
        return _choice(within, random) if random.random() < CHANGED_PART else value
    assert isinstance(within, IntDistribution | FloatDistribution)
    assert not isinstance(value, str)
    if random.random() >= MOVED_PART:
        return value
    low, high, now = (float(np.log(each)) if within.log else float(each) for each in (within.low, within.high, value))
    step = STEP * (high - low)
    if isinstance(within, IntDistribution) and not within.log:
        # The neighbours of a whole number can be reached, however short the range is.
        step = max(step, 1.0)
    moved = now + step * random.standard_normal()
    # Reflected at the ends, as cut values would gather there.
    moved = low + abs(moved - low)
    moved = max(low, high - abs(high - moved))
    outer = float(np.exp(moved)) if within.log else moved
    outer = min(max(outer, within.low), within.high)
    return round(outer) if isinstance(within, IntDistribution) else outer


def _choice(
    within: CategoricalDistribution, random: np.random.Generator, chances: np.ndarray | None = None
) -> float | int | str:
    return within.choices[int(random.choice(len(within.choices), p=chances))]  # type: ignore[return-value]
