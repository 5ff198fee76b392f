"""A trial's row says where and with what code it ran."""

from pathlib import Path

import pytest

from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings
from tuning.trial.proposal import Proposal
from tuning.trial.records import TrialRecords


def test_a_process_that_does_not_know_the_commit_leaves_the_drivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"host": "driver", "platform": "Linux", "python": "3", "versions": "{}", "git_commit": "abc"}
    monkeypatch.setattr("tuning.trial.records.provenance", lambda: known)
    records = TrialRecords(create(Settings(backend="batch", name="e", dir=str(tmp_path))))
    h = algorithm("ppo").space.complete({})
    records.begin(Proposal(0, h))
    monkeypatch.setattr("tuning.trial.records.provenance", lambda: {**known, "host": "worker", "git_commit": ""})
    records.used(0, h, "cpu", 4)
    row = records.measured(0)
    assert (row["host"], row["git_commit"]) == ("worker", "abc")
