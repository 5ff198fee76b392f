"""A search whose storage is lost stops."""

from types import SimpleNamespace
from typing import Any

import pytest
from ray.tune.progress_reporter import TrialProgressCallback
from ray.tune.utils.callback import _create_default_callbacks

from common.storage.faults import StorageLostError
from tests.tuning.search.fakes import Control
from tuning.experiment.budget import Budget
from tuning.search.run.watches import LEFT_SECONDS, BudgetWatch, QuietTune, StorageWatch
from tuning.storage.search_files import SearchFiles


class Lost(SearchFiles):
    failure: Any = None


class Stopped(Control):
    reason: str | None = None

    def stop(self, reason: str) -> None:
        self.reason = reason
        self.told.append(("stop", reason))


def test_a_search_stops_once_its_files_cannot_be_written() -> None:
    files, control = Lost(), Stopped()
    watch = StorageWatch(files, control)  # type: ignore[arg-type]
    watch.on_step_end(1, [])
    assert control.told == []
    files.failure = "the storage is lost"
    for _ in range(2):
        watch.on_step_end(1, [])
    assert control.told == [("say", "stopping: the storage is lost"), ("stop", "the storage is lost")]


def test_trials_that_do_not_see_it_do_not_train_to_their_end() -> None:
    files, control, now = Lost(), Stopped(), [0.0]
    watch = StorageWatch(files, control, lambda: now[0])  # type: ignore[arg-type]
    files.failure = "the storage is lost"
    watch.on_step_end(1, [])
    now[0] = LEFT_SECONDS
    watch.on_step_end(2, [])
    now[0] += 1
    with pytest.raises(StorageLostError, match="the storage is lost"):
        watch.on_step_end(3, [])


def test_a_search_that_stops_already_keeps_its_reason() -> None:
    files, control = Lost(), Stopped()
    control.reason = "the disk is full"
    files.failure = "the storage is lost"
    StorageWatch(files, control).on_step_end(1, [])  # type: ignore[arg-type]
    assert control.names() == []


@pytest.mark.parametrize(
    ("budget", "spent", "stopping", "ends"),
    [
        (Budget(1.0, "seconds"), True, False, True),
        (Budget(1.0, "seconds"), False, False, False),
        (Budget(1.0, "seconds"), True, True, False),
        (Budget(1.0, "steps"), True, False, False),
        (None, True, False, False),
    ],
)
def test_when_it_ends(budget: Budget | None, spent: bool, stopping: bool, ends: bool) -> None:
    ended: list[bool] = []
    ledger: Any = SimpleNamespace(budget=budget, is_spent=lambda: spent)
    control: Any = SimpleNamespace(is_stopping=stopping, finish=lambda: ended.append(True))
    BudgetWatch(ledger, control).on_step_end(0, [])
    assert bool(ended) == ends


def test_tune_uses_it_in_place_of_its_own(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
    found = _create_default_callbacks([QuietTune()], air_verbosity=None)
    assert [type(own) for own in found if isinstance(own, TrialProgressCallback)] == [QuietTune]
    trial: Any = SimpleNamespace(last_result={}, trial_id="a")
    (quiet,) = found
    quiet.on_trial_complete(1, [trial], trial)
    quiet.on_trial_error(1, [trial], trial)
    quiet.on_trial_result(1, [trial], trial, {"done": True})
    assert capsys.readouterr().out == ""
