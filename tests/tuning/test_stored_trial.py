"""A real trial in a storage that fails in the middle of a push: the next process makes it the trial of a local folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from common.storage.location import location
from common.storage.objects import Objects, StorageLostError
from results import load
from tests.tuning.killed_search import numbers
from tests.tuning.test_killed_stored_driver import fetched
from tests.tuning.trial.small_trials import experiment, hyperparameters
from tuning.experiment.folder import Experiment
from tuning.storage.search_files import STORAGE, TURN, turn_key
from tuning.trial.checkpoint import Checkpoints
from tuning.trial.proposal import Proposal
from tuning.trial.protocol import (
    EXPERIMENT,
    FALLBACK,
    HYPERPARAMETERS,
    MESSAGE,
    NUMBER,
    OUTCOME,
    RAM_LIMIT,
    RUN,
    STORAGE_LOST,
    VRAM_LIMIT,
)
from tuning.trial.records import TrialRecords
from tuning.trial.trainable import run_trial


def handed_out(of: Experiment, algo: str) -> dict[str, Any]:
    assignment = hyperparameters(algo)
    TrialRecords(of).begin(Proposal(0, assignment))
    of.paths.running("this").touch()
    config = {NUMBER: 0, HYPERPARAMETERS: assignment, EXPERIMENT: str(of.paths.folder), RUN: "this"}
    return config | {VRAM_LIMIT: 0, RAM_LIMIT: 0, FALLBACK: 0}


@pytest.mark.slow
@pytest.mark.usefixtures("small_ray")
@pytest.mark.parametrize("algo", ["sac"])
def test_a_trial_that_loses_its_storage_goes_on_in_another_process(
    small_schema: Path, tmp_path: Path, s3_bucket: str, monkeypatch: pytest.MonkeyPatch, algo: str
) -> None:
    told: list[dict[str, Any]] = []
    monkeypatch.setattr("ray.tune.report", told.append)
    monkeypatch.setattr("tuning.trial.trainable.end_with_parent", lambda: None)
    local = experiment(tmp_path / "one", small_schema, algo, progress_csv=True)
    config, objects = handed_out(local, algo), Objects(location(s3_bucket) / "one")
    # What the driver puts, in this order.
    row = local.paths.part("trials", 0)
    for path in (local.paths.settings, row, local.paths.running("this")):
        objects.put(path.relative_to(local.paths.folder).as_posix(), path)
    run_trial(config)

    names = sorted(path.name for path in local.paths.checkpoints(0).iterdir())
    create = Objects.create
    for turn, lost in enumerate((f"{names[0]}/state.json", f"evaluations/00000-{names[1]}", None)):

        def failing(self: Objects, key: str, content: Any, lost: str | None = lost) -> bool:
            if lost and lost in key:
                raise StorageLostError("the bucket does not answer")
            return create(self, key, content)

        objects.put(turn_key(0), str(turn).encode())
        told.clear()
        with monkeypatch.context() as patched:
            patched.setattr(Objects, "create", failing)
            run_trial(config | {STORAGE: objects.location.uri, TURN: str(turn)})
        assert (told[-1].get(OUTCOME), told[-1].get(MESSAGE)) == (
            (STORAGE_LOST, "the bucket does not answer") if lost else (None, None)
        )
    stored = fetched(objects.location, tmp_path / "fetched")
    one, two = load(local.paths.folder), load(stored)
    for table in ("reports", "evaluations"):
        pd.testing.assert_frame_equal(numbers(getattr(one, table)), numbers(getattr(two, table)), check_exact=True)
    assert one.trials["steps"].tolist() == two.trials["steps"].tolist()
    assert sorted(path.name for path in (stored / "trials/00000").iterdir()) == names
    newest, damage = Checkpoints(stored / "trials" / "00000").newest()
    assert newest
    assert damage == []
    assert (stored / "csv/00000.csv").read_text(encoding="utf-8").count("\n") == len(two.reports) + 1
