"""How well the time left is told in replayed searches with a budget of steps.

Run: `uv run python -m benchmarks.replay.time_left LANDSCAPE... [--seeds 12]`; landscapes as in `benchmarks.replay`.

Such a search counts each step alike. The time of an evaluation is its steps times the recorded cost, and differs by a tenth
more. Where the last part of the budget pays for it, it trains the best and the default anew by turns, as a confirmation does.
"""

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import tyro
from numpy.typing import NDArray

from benchmarks.replay.__main__ import ReplayError, landscape
from benchmarks.replay.command import carry_out
from benchmarks.replay.landscape import Landscape
from benchmarks.replay.searchers import Replay, Spent, freeze_thaw
from tuning.experiment.option_values import Budget
from tuning.experiment.settings import LEAST_CONFIRMING_RUNS
from tuning.search.run.time_left import LEAST_SECONDS, BudgetLeft, weighed

Array = NDArray[np.float64]
CONFIRM, LEAST = 0.15, 2 * LEAST_CONFIRMING_RUNS  # part of the budget that trains the best again, and trainings that it needs
NOISE = 0.1  # standard deviation of the logarithm of an evaluation's time
FROM, WITHIN = 0.2, 0.25  # part of the budget from which on the time left is compared; by how much it may be off
WEIGHED, COUNTED = "steps weighed by cost", "steps alone"


@dataclass(frozen=True)
class Options:
    """What to replay."""

    landscapes: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Files, or made:SEED; each with its default."""
    seeds: int = 12
    """Replays of each."""
    budgets: tuple[float, ...] = (10.0, 30.0)
    """Full trainings."""


@dataclass
class _Noted(Replay):
    """A replay that notes each evaluation.

    Attributes:
        trained: assignment of each evaluation.
        best: the one with the best rating so far, after each.
    """

    trained: list[int] = field(default_factory=list)
    best: list[int] = field(default_factory=list)

    def train(self, assignment: int) -> float:
        before = self._best
        rating = super().train(assignment)
        self.trained.append(assignment)
        self.best.append(assignment if rating > before else self.best[-1])
        return rating


@dataclass
class _Known:
    """What is known after an evaluation, as `tuning.search.run.time_left` knows it.

    Attributes:
        steps: used after each evaluation.
        work: likewise, weighed.
        left: what is ahead after each, weighed.
        at: index of the evaluation.
    """

    steps: Array
    work: Array
    left: Array
    at: int = 0

    def used(self) -> float:
        return float(self.steps[self.at])

    def done(self) -> float:
        return float(self.work[self.at])

    def ahead(self) -> float:
        return float(self.left[self.at])


def confirming_part(budget: float) -> float:
    """Part of a budget that confirms; 0 where it does not pay for two trainings of the best and of the default."""
    return CONFIRM if CONFIRM * budget >= LEAST else 0.0


def course(land: Landscape, budget: float, seed: int) -> tuple[list[int], list[int]]:
    """A search with a budget of steps and its confirmation.

    Args:
        land: with a default.
        budget: full trainings.
        seed: of the replay.

    Returns:
        Assignment of each evaluation, and the best so far after each.
    """
    if land.default is None:
        raise ReplayError(f"{land.name}: its default is not recorded, and costs are in units of that")
    alike = replace(land, costs=np.ones(len(land)))
    evaluations = round(budget * len(land.steps))
    replay = _Noted(alike, (1.0 - confirming_part(budget)) * budget * float(land.steps[-1]), seed)
    with contextlib.suppress(Spent):
        freeze_thaw(replay, prior=True, all_starts=True)
    winner, whole = replay.best[-1], len(land.steps)
    rest = evaluations - len(replay.trained)
    trained = [winner if (place // whole) % 2 == 0 else land.default for place in range(rest)]
    return [*replay.trained, *trained], [*replay.best, *[winner] * rest]


def right(land: Landscape, trained: Sequence[int], best: Sequence[int], seed: int) -> dict[str, list[bool]]:
    """Whether the time left is right within a quarter at each evaluation from a fifth of the budget on, but for the last.

    Args:
        land: that was searched.
        trained: see `course`.
        best: see there.
        seed: of the noise.
    """
    rng = np.random.default_rng([seed, 9])
    rung = float(land.steps[0])
    costs = land.costs[list(trained)] / land.costs[land.default]
    seconds = LEAST_SECONDS * np.cumsum(costs * np.exp(rng.normal(0.0, NOISE, len(costs))))
    steps, work = rung * np.arange(1.0, len(costs) + 1.0), rung * np.cumsum(costs)
    left = steps[-1] - steps
    confirming = np.minimum(left, confirming_part(len(trained) / len(land.steps)) * steps[-1])
    of_best = land.costs[list(best)] / land.costs[land.default]
    ahead = weighed(left, work / steps, confirming, (1.0 + of_best) / 2.0)
    known = {WEIGHED: _Known(steps, work, ahead), COUNTED: _Known(steps, steps, left)}
    return {name: _right(each, seconds) for name, each in known.items()}


def _right(known: _Known, seconds: Array) -> list[bool]:
    now = 0.0
    told = BudgetLeft(Budget(float(known.steps[-1]), "steps"), known, lambda: now)
    found = []
    for known.at, moment in enumerate(seconds[:-1]):
        now = float(moment)
        told.on_report()
        if known.used() >= FROM * known.steps[-1]:
            estimate, true = told.seconds(), float(seconds[-1]) - now
            assert estimate is not None  # two evaluations are less than a fifth
            found.append(abs(estimate - true) <= WITHIN * true)
    return found


def main(options: Options) -> None:
    """Replay, and print a table in Markdown."""
    if options.seeds < 1:
        raise ReplayError(f"--seeds {options.seeds}: at least 1")
    lands = [landscape(name) for name in options.landscapes]
    print(f"| landscape | trainings | spread of costs | {WEIGHED} | {COUNTED} |\n|---|---:|---:|---:|---:|")
    for land in lands:
        for budget in options.budgets:
            found = dict[str, list[bool]]()
            for seed in range(options.seeds):
                for name, each in right(land, *course(land, budget, seed), seed).items():
                    found.setdefault(name, []).extend(each)
            shares = " | ".join(f"{np.mean(found[name]):.0%}" for name in (WEIGHED, COUNTED))
            print(f"| {land.name} | {budget:g} | {np.log(land.costs).std():.2f} | {shares} |", flush=True)


if __name__ == "__main__":
    carry_out(main, Options, __doc__)
