"""Which trial a command line names, and what a trial without a checkpoint says; with one: `test_rollout`, `test_export`."""

from pathlib import Path

import pytest

from common.errors import UsageError
from results import load
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.trial.policy import trained, trial_number
from tuning.trial.proposal import Proposal
from tuning.trial.records import TrialRecords


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    of = create(Settings(backend="batch", name="e", dir=str(tmp_path)))
    records = TrialRecords(of)
    for number, score in enumerate((0.1, 0.3, 0.2)):
        records.begin(Proposal(number, algorithm("ppo").space.complete({})))
        records.update(number, score=score)
        records.end(number, "complete")
    return of


def test_the_best_trial_or_one_by_its_number(experiment: Experiment) -> None:
    results = load(experiment.paths.folder)
    assert [trial_number(results, name) for name in ("best", "0", "2")] == [1, 0, 2]
    for name in ("3", "-1", "worst", ""):
        with pytest.raises(UsageError, match="a number from 0 to 2"):
            trial_number(results, name)


def test_without_a_complete_trial_there_is_no_best_one(tmp_path: Path) -> None:
    empty = create(Settings(backend="batch", name="e", dir=str(tmp_path)))
    with pytest.raises(UsageError, match="no trial is complete"):
        trial_number(load(empty.paths.folder), "best")


def test_a_trial_without_a_checkpoint_says_why_that_may_be(experiment: Experiment) -> None:
    with pytest.raises(UsageError, match="--keep-checkpoints"), trained(experiment, 0):
        pass
    damaged = experiment.paths.checkpoints(0) / "000000000100"
    damaged.mkdir(parents=True)
    with pytest.raises(UsageError, match=r"no checkpoint: checkpoint .* is damaged"), trained(experiment, 0):
        pass
