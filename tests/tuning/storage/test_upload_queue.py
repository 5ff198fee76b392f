"""Changes reach a storage in their order, or not at all."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from common.storage.faults import StorageLostError
from tests.tuning.storage.stand_in import in_memory
from tuning.storage import upload_queue
from tuning.storage.epoch import OvertakenError
from tuning.storage.upload_queue import UploadQueue


@contextmanager
def queue(objects: Any, **given: Any) -> Iterator[UploadQueue]:
    made = UploadQueue(objects, **{"confirm": lambda: None, "look": lambda: None, "tick_seconds": 0.01, **given})
    yield made
    made.start()
    made.close()


def put(key: str, content: bytes = b"") -> Any:
    return lambda objects: objects.put(key, content)


def test_changes_are_made_in_their_order_and_before_the_end() -> None:
    objects = in_memory()
    with queue(objects) as own:
        for number in range(20):
            own.add(f"{number % 3}", put(f"{number:02d}"))
    assert objects.changes == [f"+{number:02d}" for number in range(20)]


def test_of_two_that_follow_each_other_the_later_is_enough() -> None:
    objects = in_memory()
    with queue(objects) as own:
        for name, content in (("row", b"1"), ("row", b"2"), ("journal", b"3"), ("row", b"4")):
            own.add(name, put(name, content))
    assert objects.changes == ["+row", "+journal", "+row"]
    assert objects.contents["row"] == b"4"


def test_a_barrier_waits_for_all_that_was_added() -> None:
    objects, go = in_memory(), threading.Event()
    objects.before = lambda change: go.wait(10) and None
    own = UploadQueue(objects, lambda: None, lambda: None, 0.01)
    own.start()
    own.add("a", put("a"))
    own.add("b", put("b"))
    threading.Timer(0.05, go.set).start()
    own.barrier()
    assert objects.changes == ["+a", "+b"]
    own.close()


def test_it_looks_by_itself_while_nothing_is_due() -> None:
    objects, looked = in_memory(), threading.Event()
    own = UploadQueue(objects, lambda: None, looked.set, 0.01)
    own.start()
    assert looked.wait(10)
    own.close()


@pytest.mark.parametrize("error", [StorageLostError("lost"), OvertakenError("overtaken")])
def test_after_an_error_no_change_is_made(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload_queue, "LOST_SECONDS", 0.0)
    objects = in_memory()

    def change(objects: Any) -> None:
        raise error

    own = UploadQueue(objects, lambda: None, lambda: None, 0.01)
    own.add("a", put("a"))
    own.add("b", change)
    own.add("c", put("c"))
    own.start()
    with pytest.raises(type(error)):
        own.barrier()
    assert own.failure is error
    own.add("d", put("d"))
    with pytest.raises(type(error)):
        own.barrier()
    own.keep_up()
    own.close()
    assert objects.changes == ["+a"]


def test_one_change_follows_a_failure_once_the_storage_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload_queue, "LOST_SECONDS", 0.0)
    objects, failures, made = in_memory(), [StorageLostError(str(number)) for number in range(3)], threading.Event()

    def before(change: str) -> None:
        if failures:
            raise failures.pop()
        made.set()

    objects.before = before
    own = UploadQueue(objects, lambda: None, lambda: None, 0.01, last=put("last"))
    own.add("a", put("a"))
    own.start()
    assert made.wait(10)
    own.close()
    assert objects.changes == ["+last"]


def test_a_run_that_was_overtaken_does_not_even_make_its_last_change() -> None:
    objects = in_memory()

    def confirm() -> None:
        raise OvertakenError("overtaken")

    own = UploadQueue(objects, confirm, lambda: None, 0.01, last=put("last"))
    own.add("a", put("a"))
    own.start()
    own.close()
    assert objects.changes == []


def test_each_attempt_is_confirmed_anew() -> None:
    """While an attempt fails, another run may take over."""
    objects, confirmed = in_memory(), []

    def confirm() -> None:
        confirmed.append(len(objects.changes))
        if len(confirmed) == 3:
            raise OvertakenError("overtaken")

    def change(objects: Any) -> None:
        raise StorageLostError("for a while")

    own = UploadQueue(objects, confirm, lambda: None, 0.01)
    own.add("a", change)
    own.start()
    with pytest.raises(OvertakenError):
        own.barrier()
    assert confirmed == [0, 0, 0]
    own.close()


def test_a_change_of_several_requests_ends_where_another_run_took_over() -> None:
    objects = in_memory()

    def confirm() -> None:
        if objects.contents:
            raise OvertakenError("overtaken")

    def change(objects: Any) -> None:
        for number in range(3):
            objects.put(str(number), b"")

    own = UploadQueue(objects, confirm, lambda: None, 0.01)
    own.add("a", change)
    own.start()
    with pytest.raises(OvertakenError):
        own.barrier()
    own.close()
    assert objects.changes == ["+0"]


def test_a_change_that_fails_for_a_while_is_made_in_its_place() -> None:
    objects, failures = in_memory(), [StorageLostError("1"), StorageLostError("2")]

    def change(objects: Any) -> None:
        if failures:
            raise failures.pop()
        objects.put("a", b"")

    with queue(objects) as own:
        own.add("a", change)
        own.add("b", put("b"))
    assert objects.changes == ["+a", "+b"]


def test_who_adds_waits_while_changes_are_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload_queue, "MOST_LAG_SECONDS", 0.02)
    objects = in_memory()
    objects.before = lambda change: time.sleep(0.05)
    own = UploadQueue(objects, lambda: None, lambda: None, 0.01)
    own.start()
    for name in "abc":
        own.add(name, put(name))
    time.sleep(0.03)
    own.keep_up()
    assert len(objects.changes) >= 2
    own.close()
