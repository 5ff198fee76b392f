"""Substitutes for the surroundings of a search, and a search without Ray."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from optuna.pruners import BasePruner
from optuna.trial import FrozenTrial, TrialState, create_trial

from envs.objective.aim import Outcome
from results import load
from search_spaces import Assignment, SearchSpace
from tests.tuning.roomy import planner, roomy
from tuning.algorithms.registry import algorithm, algorithm_of
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.memory.placement import ANYWHERE, Placement
from tuning.memory.planner import Planner
from tuning.search.promotion.choosing import Choosing
from tuning.search.promotion.thawing import Thawing
from tuning.search.proposals.drawing import Drawing, Draws, Excess
from tuning.search.record.ledger import Ledger
from tuning.search.record.record import Record
from tuning.search.record.study import StudyMemory
from tuning.search.record.trials import Costs
from tuning.search.run.search import Search
from tuning.storage.search_files import Home, SearchFiles
from tuning.trial.protocol import Ending, Evaluated, Handout, Proposal, Report
from tuning.trial.records import TrialRecords

REPORTS = 3
STEPS = 4096
RUNG = STEPS // REPORTS
SHORT, SHORT_RUNG = 1000, 100  # steps of a trial and of its rungs, in tests of a study alone


class Clock:
    """A clock that a test sets, seconds."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class StopsAll(BasePruner):
    """A pruner that stops every trial."""

    def prune(self, study: Any, trial: Any) -> bool:
        return True


class Control:
    """Substitute for `RunControl` that records its calls."""

    run = "this"
    reason: str | None = None

    def __init__(self) -> None:
        self.is_stopping = self.is_finishing = False
        self.told: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.told.append((name, *arguments))

    def names(self) -> list[str]:
        return [name for name, *_ in self.told if name not in ("say", "has_left")]

    @property
    def lines(self) -> list[str]:
        return [line for name, *rest in self.told if name == "say" for line in rest]


def draws_of(
    experiment: Experiment,
    memory: StudyMemory,
    steps: float = STEPS,
    fixed: Assignment | None = None,
    starts: Sequence[Assignment] = (),
    excess: Excess | None = None,
    space: SearchSpace | None = None,
) -> Draws:
    """Draws trials of an experiment."""
    space = space or algorithm_of(experiment.settings).space
    return Draws(memory, Drawing(experiment.settings, space, fixed or {}, {"steps": float(steps)}, starts, excess))


def draw_some(of: Drawing, count: int) -> list[FrozenTrial]:
    """Draw trials one after the other; each is complete, and worse than the one before."""
    drawn = list[FrozenTrial]()
    for number in range(count):
        trial = of.draw(drawn, "one")
        trial.state, trial.value, trial.datetime_complete = TrialState.COMPLETE, -float(number), datetime.now()
        drawn.append(trial)
    return drawn


def ended(
    number: int, params: Mapping[str, float], within: Mapping[str, Any], value: float, **constraints: float
) -> FrozenTrial:
    """A complete trial that violates some constraints."""
    distributions = {name: within[name] for name in params}
    trial = create_trial(params=dict(params), distributions=distributions, value=value, constraints=constraints)
    trial.number = number
    return trial


class AskedStudy(StudyMemory):
    """A study that draws its trials itself."""

    draws: Draws

    def draw(self) -> FrozenTrial:
        """The trial that would begin next."""
        return self.draws.draw()

    def ask(self) -> Proposal:
        """Draw a trial, and add it."""
        return self.add(self.draw())

    def train(self, *told: float | tuple[float, float], is_complete: bool = False) -> int:
        """Begin a trial with these ratings, or gains in two objectives, after each rung; then it is complete, or frozen."""
        number, rating = self.ask().number, 0.0
        for rung, each in enumerate(told, 1):
            gains = each if isinstance(each, tuple) else None
            rating = sum(each) / 2 if isinstance(each, tuple) else each
            self.report(number, rung * SHORT_RUNG, rating, gains)
        if is_complete:
            self.complete(number, rating)
        else:
            self.freeze(number)
        return number


def study(
    folder: Path, starts: Sequence[Assignment] = (), fixed: Assignment | None = None, name: str = "one", **settings: Any
) -> AskedStudy:
    """A study of PPO's own space without trials, which have ten short rungs."""
    experiment = create(Settings(name=name, dir=str(folder), steps=SHORT, evaluations=SHORT // SHORT_RUNG, **settings))
    return asked_study(experiment, fixed, SHORT, starts, algorithm("ppo").space)


def asked_study(
    experiment: Experiment,
    fixed: Assignment | None = None,
    steps: float = STEPS,
    starts: Sequence[Assignment] = (),
    space: SearchSpace | None = None,
) -> AskedStudy:
    """The study of an experiment, which draws its trials."""
    memory = AskedStudy.open(experiment)
    memory.draws = draws_of(experiment, memory, steps, fixed, starts, space=space)
    return memory


def ask(experiment: Experiment, memory: StudyMemory, steps: float = STEPS) -> Proposal:
    """Draw a trial, and add it."""
    return memory.add(draws_of(experiment, memory, steps).draw())


class Searched:
    """A search without Ray, and what it consists of."""

    def __init__(
        self,
        experiment: Experiment,
        planner: Planner | None = None,
        trials: float | None = None,
        freezes: bool = False,
        ledger: Ledger | None = None,
        pruner: BasePruner | None = None,
        excess: Excess | None = None,
        files: SearchFiles | None = None,
    ) -> None:
        settings = experiment.settings
        self.experiment, self.control = experiment, Control()
        self.memory = StudyMemory.open(experiment, pruner)
        self.rows = TrialRecords(experiment)
        self.record = Record(self.memory, self.rows, STEPS, REPORTS)
        self.draws = draws_of(experiment, self.memory, excess=excess)
        self.ledger = ledger or Ledger(self.memory, settings.limit if settings.budget else None, RUNG, most_steps=STEPS)
        self.thawing = None
        if freezes:
            space = algorithm_of(settings).space
            drawn_from = space.distributions({}, {"steps": float(STEPS)})
            self.thawing = Thawing(self.memory, Costs(space), drawn_from, STEPS, RUNG, 0, lambda: math.inf)
        most = settings.trials if trials is None else trials
        self.choosing = Choosing(self.draws, most, self.ledger, self.thawing)
        self.placement = Placement(planner or roomy(experiment))
        self.search = Search(
            self.record, self.choosing, self.control, self.placement, settings, experiment.paths, files or SearchFiles()
        )

    def begin(self) -> int | None:
        """Number of the trial that is handed out next; None for none."""
        handout = self.search.hand_out()
        return None if handout is None else handout.number

    def tell(self, number: int, evaluation: int, score: float = 0.1, **of_outcome: Any) -> bool:
        """A trial tells an evaluation, after a checkpoint; whether it goes on."""
        return self.search.take(number, evaluated(evaluation, score, **of_outcome))

    def end(self, number: int, evaluation: int = REPORTS, score: float = 0.1) -> None:
        """A trial comes to its end, or to where it was told to stop."""
        self.search.end(number, evaluated(evaluation, score), False)

    def complete(self, number: int, score: float = 0.1) -> None:
        """A trial tells its last evaluation, and ends."""
        self.tell(number, REPORTS, score)
        self.end(number, score=score)

    def lose(self, number: int) -> None:
        """The process of a trial dies."""
        self.search.end(number, Report(), True)

    def crash(self, number: int, error: str) -> None:
        """A trial fails with this traceback."""
        self.search.take(number, Report(ending=Ending.CRASHED, message=error))
        self.search.end(number, Report(ending=Ending.CRASHED, message=error), True)

    def run_out(self, number: int) -> None:
        """A trial runs out of memory."""
        out = Report(ending=Ending.OUT_OF_MEMORY, message="Traceback\nOutOfMemoryError: too big")
        self.search.end(number, out, False)

    def frozen(self) -> list[FrozenTrial]:
        """The trials as Optuna has them."""
        return self.memory.trials()


def evaluated(evaluation: int, score: float = 0.1, **of_outcome: Any) -> Report:
    """The report of an evaluation, after a checkpoint."""
    outcome, steps = Outcome(score, **of_outcome), evaluation * RUNG + 10
    columns = {"score": score, "steps": steps}
    return Report(steps, saved=True, evaluated=Evaluated(evaluation, steps, outcome), columns=columns)


def handed_out(number: int, confirms: bool = False) -> dict[str, Any]:
    """Configuration of a trial for Tune."""
    return Handout(number, {}, 0, 0, ANYWHERE, Home("", "this"), confirms).config()


def states(experiment: Experiment) -> list[str]:
    found: list[str] = load(experiment.paths.folder).trials["state"].tolist()
    return found


def changed(experiment: Experiment, **settings: Any) -> Experiment:
    return replace(experiment, settings=replace(experiment.settings, **settings))


def two_begun(experiment: Experiment, **settings: Any) -> Searched:
    of = Searched(
        changed(experiment, retries=1, **settings),
        planner=planner(experiment.settings, experiment.paths.folder, cores=8), trials=3,
    )  # fmt: skip
    assert [of.begin(), of.begin()] == [0, 1]
    return of


class FailingFiles(SearchFiles):
    lost: str | None = None

    @property
    def failure(self) -> str | None:
        return self.lost
