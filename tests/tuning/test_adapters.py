"""What Tune is told to do with a trial, without Tune."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from results import load
from search_spaces import SPACES
from tuning.adapters import StudyScheduler, StudySearcher
from tuning.experiment import Experiment, create
from tuning.protocol import EVALUATION, NUMBER, SCORE, STEPS
from tuning.records import TrialRecords
from tuning.settings import Settings
from tuning.study import StudyMemory

REPORTS = 3


class PrunesAll(StudyMemory):
    """A study whose pruner gives up on everything."""

    def should_prune(self, number: int) -> bool:
        return True


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return create(Settings(name="one", dir=str(tmp_path), trials=2, reports=REPORTS))


def adapters(experiment: Experiment) -> tuple[StudySearcher, StudyScheduler]:
    memory = PrunesAll(experiment, SPACES["ppo"], {}, {"steps": 4096.0})
    searcher = StudySearcher(memory, TrialRecords(experiment), experiment.paths.folder, experiment.settings.trials)
    return searcher, StudyScheduler(memory, searcher, REPORTS, 4096)


def decide(scheduler: StudyScheduler, **result: Any) -> str:
    return scheduler.on_trial_result(None, SimpleNamespace(trial_id="a"), result)  # type: ignore[arg-type]


def test_trials_are_handed_out_up_to_their_number(experiment: Experiment) -> None:
    searcher, _ = adapters(experiment)
    assert [searcher.suggest(name)[NUMBER] for name in "ab"] == [0, 1]  # type: ignore[index]
    assert searcher.suggest("c") == "FINISHED"
    assert load(experiment.paths.folder).trials["state"].tolist() == ["running", "running"]


def test_only_an_evaluation_is_reported_and_asked_about(experiment: Experiment) -> None:
    searcher, scheduler = adapters(experiment)
    searcher.suggest("a")
    assert decide(scheduler, **{STEPS: 10}) == "CONTINUE"
    assert decide(scheduler, **{STEPS: 20, EVALUATION: 1, SCORE: 0.1}) == "STOP"


def test_after_its_last_evaluation_a_trial_is_complete_and_not_pruned(experiment: Experiment) -> None:
    searcher, scheduler = adapters(experiment)
    searcher.suggest("a")
    last = {STEPS: 4096, EVALUATION: REPORTS, SCORE: 0.1}
    assert decide(scheduler, **last) == "CONTINUE"
    searcher.on_trial_complete("a", last)
    assert load(experiment.paths.folder).trials["state"].tolist() == ["complete"]


def test_a_process_that_died_without_a_word_is_a_failed_trial(experiment: Experiment) -> None:
    searcher, _ = adapters(experiment)
    searcher.suggest("a")
    searcher.on_trial_complete("a", None, error=True)
    trials = load(experiment.paths.folder).trials
    assert trials["state"].tolist() == ["failed"]
    assert trials["finished"].notna().all()
    assert "died" in trials["error"][0]


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_is_no_number_is_a_failure_everywhere(experiment: Experiment, score: float) -> None:
    searcher, scheduler = adapters(experiment)
    searcher.suggest("a")
    assert decide(scheduler, **{STEPS: 20, EVALUATION: 1, SCORE: score}) == "CONTINUE"
    searcher.on_trial_complete("a", {STEPS: 4096, EVALUATION: REPORTS, SCORE: score})
    assert load(experiment.paths.folder).trials["state"].tolist() == ["failed"]
    assert [t.state.name for t in searcher._memory._study.get_trials()] == ["FAIL"]


def test_a_trial_that_is_handed_out_again_keeps_what_it_measured(experiment: Experiment) -> None:
    searcher, _ = adapters(experiment)
    searcher.suggest("a")
    TrialRecords(experiment).update(0, steps=128, score=0.5)
    again, _ = adapters(experiment)
    assert again.suggest("z")[NUMBER] == 0  # type: ignore[index]
    trials = load(experiment.paths.folder).trials
    assert trials["steps"].tolist() == [128]
    assert trials["score"].tolist() == [0.5]
