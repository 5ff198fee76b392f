"""Substitutes for the surroundings of the searcher and the scheduler."""

from types import SimpleNamespace
from typing import Any

from results import load
from tests.tuning.roomy import roomy
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment
from tuning.search.record.study import StudyMemory
from tuning.search.run.scheduler import StudyScheduler
from tuning.search.run.searcher import StudySearcher
from tuning.trial.records import TrialRecords

REPORTS = 3


class PrunesAll(StudyMemory):
    """A study with a pruner that stops every trial."""

    def should_prune(self, number: int) -> bool:
        return True


class Control:
    """Substitute for `RunControl` that records its calls."""

    run = "this"

    def __init__(self) -> None:
        self.is_stopping = self.is_finishing = False
        self.told: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.told.append((name, *arguments))

    def names(self) -> list[str]:
        return [name for name, *_ in self.told if name != "say"]


def adapters(experiment: Experiment, control: Any = None) -> tuple[StudySearcher, StudyScheduler]:
    memory = PrunesAll.open(experiment, algorithm("ppo").space, {}, {"steps": 4096.0})
    settings = experiment.settings
    searcher = StudySearcher(
        memory, TrialRecords(experiment), experiment.paths.folder, settings.trials, control or Control(),
        roomy(experiment), settings.retries, trusted=settings.trust_scenario,
    )  # fmt: skip
    searcher.take_up(memory.adopt_unfinished())
    return searcher, StudyScheduler(memory, searcher, REPORTS, 4096, settings.aim)


def states(experiment: Experiment) -> list[str]:
    found: list[str] = load(experiment.paths.folder).trials["state"].tolist()
    return found


def decide(scheduler: StudyScheduler, **result: Any) -> str:
    return scheduler.on_trial_result(None, SimpleNamespace(trial_id="a"), result)  # type: ignore[arg-type]
