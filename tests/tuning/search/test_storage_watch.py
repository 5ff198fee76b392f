"""A search whose storage is lost stops."""

from typing import Any

from tests.tuning.search.fakes import Control
from tuning.search.storage_watch import StorageWatch
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
    assert control.told == [("stop", "the storage is lost")]
