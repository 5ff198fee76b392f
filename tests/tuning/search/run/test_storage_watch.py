"""A search whose storage is lost stops."""

from typing import Any

import pytest

from common.storage.faults import StorageLostError
from tests.tuning.search.fakes import Control
from tuning.search.run.storage_watch import LEFT_SECONDS, StorageWatch
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
