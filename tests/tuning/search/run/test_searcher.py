"""What Ray Tune is told of a search, and what the search is told of Tune."""

from pathlib import Path
from typing import Any

import pytest

from tests.tuning.search.fakes import REPORTS, Searched, evaluated, states
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.search.run.searcher import StudySearcher
from tuning.trial.protocol import handout_in


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    return create(Settings(name="one", dir=str(tmp_path), trials=2, reports=REPORTS, steps=4096))


def test_tune_gets_each_trial_by_its_own_name_and_is_told_of_the_end(experiment: Experiment) -> None:
    of = Searched(experiment)
    searcher = StudySearcher(of.search)
    given: list[Any] = [searcher.suggest(name) for name in "ab"]
    assert [handout_in(config).number for config in given] == [0, 1]
    # Loggers of users find them there.
    assert given[0]["hyperparameters"] == of.memory.proposal(0).hyperparameters
    assert searcher.suggest("c") is None
    of.search.take(1, last := evaluated(REPORTS))
    searcher.on_trial_complete("b", last.for_tune())
    assert states(experiment) == ["running", "complete"]
    searcher.on_trial_complete("a", error=True)
    assert handout_in(searcher.suggest("d")).number == 0  # type: ignore[arg-type]
    of.complete(0)
    assert searcher.suggest("e") == "FINISHED"


def test_a_trial_without_a_report_never_began(experiment: Experiment) -> None:
    of = Searched(experiment)
    searcher = StudySearcher(of.search)
    searcher.suggest("a")
    of.search.withdraw(0)
    searcher.on_trial_complete("a")
    assert handout_in(searcher.suggest("b")).number == 0  # type: ignore[arg-type]
