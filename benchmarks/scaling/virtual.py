"""A whole search without Ray: the driver's own code, with fake trials in virtual time in the place of Ray Tune.

`tuning.search.run.driver.run_trials` runs as in a search: study, decisions, rows, retention, progress. Only the tuner that it
makes is replaced. The fake one holds so many slots, gives each trial a pace of its own, and hands the driver what Ray
Tune would: a report of each update, an evaluation of each rung, and the end. What the driver takes is measured call by call.
"""

import heapq
import io
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
from ray.tune.result import TIME_TOTAL_S
from rich.console import Console

from benchmarks.scaling.made import REPORTS, SPACE, STEPS, rating
from tests.tuning.made_up import evaluated
from tests.tuning.roomy import roomy
from tuning.experiment.folder import Experiment
from tuning.search.proposals.plan import Plan
from tuning.search.run.driver import run_trials
from tuning.search.run.search import Search
from tuning.trial.evaluations import due_steps
from tuning.trial.protocol import Handout, Report

START_SECONDS = 10.0  # until a trial's process trains


@dataclass
class Spent:
    """What the driver took.

    Attributes:
        seconds: of the processor, of each call, by its kind.
        virtual: seconds that would have passed.
    """

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    virtual: float = 0.0

    @contextmanager
    def of(self, kind: str) -> Iterator[None]:
        """Measure a call."""
        begin = time.process_time()
        try:
            yield
        finally:
            self.seconds[kind].append(time.process_time() - begin)

    @property
    def counts(self) -> Counter[str]:
        """Number of calls, by kind."""
        return Counter({kind: len(each) for kind, each in self.seconds.items()})


@dataclass
class FakeTuner:
    """In the place of Ray Tune's tuner.

    Attributes:
        search: that it runs.
        progress: of it.
        slots: trials at once.
        seconds: between two evaluations of a trial, on average; each trial has a pace of its own.
        updates: reports for each evaluation.
        enough: says when to stop; it is given what was spent, and the number of trials that were handed out.
        spent: what the driver took.
    """

    search: Search
    progress: Any
    slots: int
    seconds: float
    updates: int
    enough: Callable[[Spent, int], bool]
    spent: Spent

    def fit(self) -> None:
        """Run the search."""
        events: list[tuple[float, int, Any]] = []  # time, order, trial
        done: dict[int, int] = {}  # evaluations, by number
        now, order, idle = 0.0, 0, False
        spent, infos = self.spent, {"iteration": 0, "trials": []}
        while True:
            while len(events) < self.slots and not idle:
                if self.enough(spent, order):
                    spent.virtual = now
                    return
                with spent.of("proposal"):
                    handout = self.search.hand_out()
                if handout is None:
                    idle = True
                    break
                trial = SimpleNamespace(handout=handout, config=handout.config(), updates=0, began=now)
                with spent.of("start"):
                    self.progress.on_trial_start(**infos, trial=trial)
                pace = self.seconds * float(np.random.default_rng([handout.number, 3]).lognormal(0.0, 0.5)) / self.updates
                trial.pace = pace
                heapq.heappush(events, (now + START_SECONDS + pace, order, trial))
                order += 1
            if not events:
                spent.virtual = now
                return
            now, place, trial = heapq.heappop(events)
            if self._report(trial, done, now):
                heapq.heappush(events, (now + trial.pace, place, trial))
            else:
                idle = False
            with spent.of("loop"):
                self.progress.on_step_end(**infos)

    def _evaluated(self, handout: Handout, evaluation: int, steps: int) -> Report:
        value = rating(handout.hyperparameters, evaluation, handout.number)
        return evaluated(handout.number, evaluation, steps, value)

    def _report(self, trial: Any, done: dict[int, int], now: float) -> bool:
        """The next report of a trial; whether it goes on."""
        number, spent = trial.handout.number, self.spent
        trial.updates += 1
        evaluation = done.get(number, 0) + (trial.updates % self.updates == 0)
        begun = due_steps(done.get(number, 0), STEPS, REPORTS) if done.get(number) else 0
        steps = begun + (due_steps(1, STEPS, REPORTS) * (trial.updates % self.updates or self.updates)) // self.updates
        kind, report = "report", Report(steps)
        if evaluation > done.get(number, 0):
            done[number], kind, report = evaluation, "evaluation", self._evaluated(trial.handout, evaluation, steps)
        with spent.of(kind):
            # In the order of Tune's controller.
            goes_on = self.search.take(number, report)
            self.progress.on_trial_result(0, [], trial, {TIME_TOTAL_S: now - trial.began, **report.for_tune()})
        if goes_on and evaluation < REPORTS:
            return True
        with spent.of("end"):
            self.search.end(number, report, has_failed=False)
        return False


def search(
    of: Experiment,
    slots: int,
    enough: Callable[[Spent, int], bool],
    seconds: float = 60.0,
    updates: int = 5,
) -> Spent:
    """Run a search, or a part of it.

    Args:
        of: experiment, new or grown.
        slots: trials at once.
        enough: see `FakeTuner`.
        seconds: see there.
        updates: see there.
    """
    spent = Spent()

    def tuner(paths: Any, trainable: Any, search: Search, callbacks: list[Any]) -> FakeTuner:
        return FakeTuner(search, callbacks[0], slots, seconds, updates, enough, spent)

    console = Console(file=io.StringIO())
    with patch("tuning.search.run.driver.tuner", tuner), patch("tuning.search.run.progress.check_nodes", lambda: None):
        run_trials(of, Plan(SPACE, {}, ()), roomy(of), console, lambda config: None)
    return spent
