"""A real trial in a storage that fails in the middle of a push: the next process makes it the trial of a local folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from common.storage.faults import StorageLostError
from common.storage.location import location
from common.storage.objects import Objects
from results import load
from tests.tuning.killed_search import numbers
from tests.tuning.test_killed_stored_driver import fetched
from tests.tuning.trial.small_trials import experiment, hyperparameters
from tuning.experiment.folder import Experiment
from tuning.storage import lease
from tuning.storage.search_files import Home
from tuning.trial.checkpoint import Checkpoints
from tuning.trial.protocol import Ending, Proposal, Report, report_in
from tuning.trial.records import TrialRecords
from tuning.trial.trainable import run_trial


class Driver:
    """Writes what a trial tells, as a search does.

    Attributes:
        checkpoint: steps of the newest one that it was told of.
        last: report.
    """

    def __init__(self, of: Experiment, algo: str) -> None:
        self._records, self.checkpoint, self.last = TrialRecords(of), 0, Report()
        self._handout = self._records.hand_out(Proposal(0, hyperparameters(algo)))

    def run(self, home: Home) -> None:
        """Hand the trial out, and run it in this process."""
        run_trial(replace(self._handout, checkpoint=self.checkpoint, home=home).config())

    def take(self, result: dict[str, Any]) -> None:
        self.last = report_in(result) or Report()
        self._records.take(0, self.last)
        if self.last.saved or self.last.restored:
            self.checkpoint = self.last.steps


@pytest.mark.slow
@pytest.mark.usefixtures("small_ray")
@pytest.mark.parametrize("algo", ["sac"])
def test_a_trial_that_loses_its_storage_goes_on_in_another_process(
    small_schema: Path, tmp_path: Path, s3_bucket: str, monkeypatch: pytest.MonkeyPatch, algo: str
) -> None:
    monkeypatch.setattr("tuning.trial.trainable.end_with_parent", lambda: None)
    local, other = (experiment(tmp_path / name, small_schema, algo, progress_csv=True) for name in ("one", "two"))
    driver = Driver(local, algo)
    monkeypatch.setattr("ray.tune.report", driver.take)
    local.paths.running("this").touch()
    driver.run(Home(str(local.paths.folder), "this"))

    names = sorted(path.name for path in local.paths.checkpoints(0).iterdir())
    objects = Objects(location(s3_bucket) / "two")
    objects.put(other.paths.settings.name, other.paths.settings)
    objects.put(other.paths.running("this").name, b"")
    driver = Driver(other, algo)
    monkeypatch.setattr("ray.tune.report", driver.take)
    put = Objects.put
    monkeypatch.setattr(lease.Guarded.__init__, "__defaults__", (0.0,))
    for lost in (f"{names[0]}/state.json", f"{names[1]}/arrays.npz", None):

        def failing(self: Objects, key: str, content: Any, lost: str | None = lost) -> None:
            if lost and lost in key:
                raise StorageLostError("the bucket does not answer")
            put(self, key, content)

        with monkeypatch.context() as patched:
            patched.setattr(Objects, "put", failing)
            driver.run(Home(objects.location.uri, "this", storage=objects.location.uri, lease=1))
        assert (driver.last.ending, driver.last.message) == (
            (Ending.STORAGE_LOST, "the bucket does not answer") if lost else (None, "")
        )
    one, two = load(local.paths.folder), load(other.paths.folder)
    for table in ("reports", "evaluations"):
        pd.testing.assert_frame_equal(numbers(getattr(one, table)), numbers(getattr(two, table)), check_exact=True)
    assert one.trials["steps"].tolist() == two.trials["steps"].tolist()
    assert other.paths.progress_csv(0).read_text(encoding="utf-8").count("\n") == len(two.reports) + 1
    checkpoints = fetched(objects.location, tmp_path / "fetched") / "trials" / "00000"
    assert sorted(path.name for path in checkpoints.iterdir()) == names
    newest, damage = Checkpoints(checkpoints).newest()
    assert newest
    assert damage == []
