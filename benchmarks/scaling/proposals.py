"""Time of a proposal and of a decision, by the number of trials before it."""

import math
import time
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from itertools import cycle, islice
from types import MappingProxyType
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from benchmarks.scaling.made import DISTRIBUTIONS, LIMITS, REPORTS, SPACE, STEPS, assignments, evaluations_of, rating
from tuning.experiment.settings import Settings
from tuning.search.promotion.thawing import Thawing
from tuning.search.proposals.drawing import Drawing
from tuning.search.record.trials import AT_ANY_COST, Affordable, Costs, Key
from tuning.trial.evaluations import due_steps

DISTINCT = 500  # assignments of made-up trials; more trials repeat them, moved by their own noise


def trials(count: int, running: int) -> list[FrozenTrial]:
    """Made-up trials as a study has them: a tenth complete, others frozen early, the last ones running.

    Args:
        count: of all.
        running: of these.
    """
    known = list(assignments(min(count, DISTINCT)))
    curves = [[rating(own, evaluation, place) for evaluation in range(1, REPORTS + 1)] for place, own in enumerate(known)]
    points = [SPACE.point(own, DISTRIBUTIONS) for own in known]
    return list(_trials(count, running, islice(cycle(zip(known, curves, points, strict=True)), count)))


def _trials(count: int, running: int, content: Iterator[Any]) -> Iterator[FrozenTrial]:
    now = datetime(2026, 1, 1)
    for number, (assignment, curve, point) in enumerate(content):
        taken = evaluations_of(number)
        state = TrialState.COMPLETE if taken == REPORTS else TrialState.WAITING
        if number >= count - running:
            state, taken = TrialState.RUNNING, number % 4
        ratings = {due_steps(each, STEPS, REPORTS): curve[each - 1] + 1e-9 * number for each in range(1, taken + 1)}
        yield FrozenTrial(
            number, state, ratings[STEPS] if state is TrialState.COMPLETE else None, now,
            now if state is TrialState.COMPLETE else None, point, DISTRIBUTIONS, {Key.HYPERPARAMETERS: assignment}, {}, ratings,
            number,
        )  # fmt: skip


class _Memory:
    """A study in memory alone, and the draws from it."""

    def __init__(self, sampler: str, known: list[FrozenTrial]) -> None:
        settings = Settings(name="many", steps=STEPS, evaluations=REPORTS, algo="ppo", sampler=sampler)  # type: ignore[arg-type]
        self._drawing, self._known = Drawing(settings, SPACE, {}, LIMITS), known

    def trials(self) -> list[FrozenTrial]:
        return list(self._known)

    def draw(self, values: Any = MappingProxyType({}), affordable: Affordable = AT_ANY_COST) -> FrozenTrial:
        return self._drawing.draw(self._known, "many", values, affordable=affordable)

    def evaluate(self, number: int) -> None:
        """One more evaluation of a trial that runs; its object is another one then, as in Optuna's journal."""
        old = self._known[number]
        new = FrozenTrial.__new__(FrozenTrial)
        new.__dict__.update(old.__dict__)
        due = due_steps(len(old.intermediate_values) + 1, STEPS, REPORTS)
        new.intermediate_values = {**old.intermediate_values, due: 0.1}
        self._known[number] = new


def seconds(sampler: str, scheduler: str, count: int, running: int = 1, times: int = 3) -> tuple[float, float, float]:
    """Seconds of the processor.

    Args:
        sampler: by its name.
        scheduler: freeze-thaw or another one.
        count: trials so far.
        running: of these.
        times: each is measured; the least counts.

    Returns:
        Of the first proposal after a start, of a later one, and of a decision after an evaluation, by freeze-thaw alone.
    """
    memory = _Memory(sampler, trials(count, running))
    thawing = Thawing(memory, Costs(SPACE), DISTRIBUTIONS, STEPS, STEPS // REPORTS, 0, lambda: math.inf)  # type: ignore[arg-type]
    draw = partial(thawing.draw, memory.draw) if scheduler == "freeze-thaw" else memory.draw
    first, proposals, decisions = _taken(draw), [], []
    for each in range(times):
        number = count - 1 - each % running
        memory.evaluate(number)
        proposals.append(_taken(draw))
        if scheduler == "freeze-thaw":
            drawn = draw()
            decisions.append(_taken(lambda drawn=drawn, number=number: thawing.choose(drawn, 1e12, number)))
    return first, min(proposals), min(decisions, default=0.0)


def _taken(call: Any) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin
