"""One run at a time holds an experiment in a storage."""

import threading
from typing import Any

import pytest

from common.storage.faults import StorageLostError
from tests.tuning.storage.stand_in import in_memory
from tuning.experiment.errors import UsageError
from tuning.storage import epoch
from tuning.storage.epoch import SETTLE_SECONDS, VALID_SECONDS, WATCH_SECONDS, Epoch, OvertakenError, newest


class Time:
    """A clock that runs while somebody sleeps, and what happens then."""

    def __init__(self) -> None:
        self.now = 100.0
        self.at_each_second: Any = lambda: None

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.at_each_second()


def take(objects: Any, time: Time, said: list[str] | None = None) -> Epoch:
    return Epoch.take(objects, (said if said is not None else []).append, time, time.sleep)


def test_runs_have_numbers_one_after_the_other_and_say_when_they_end() -> None:
    objects, time = in_memory(), Time()
    for number in (1, 2, 3):
        with take(objects, time) as held:
            assert (held.number, held.lost) == (number, None)
            held.confirm()
    assert newest(objects.listed()) == 3
    assert {f"epochs/0000000{number}.ended" for number in (1, 2, 3)} <= objects.contents.keys()
    assert time.now == 100.0, "nobody waits for a run that has ended"


def test_a_second_run_is_refused_while_the_first_beats() -> None:
    objects, time = in_memory(), Time()
    first = take(objects, time)
    first.beat()
    time.at_each_second = first.beat
    said: list[str] = []
    with pytest.raises(UsageError, match=r"one is in use by process \d+ on .* since .*: wait for it to end"):
        take(objects, time, said)
    assert newest(objects.listed()) == 1
    assert "has not ended" in said[0]


def test_a_run_that_does_not_beat_is_followed_after_the_lease() -> None:
    objects, time = in_memory(), Time()
    take(objects, time).beat()
    second = take(objects, time)
    assert second.number == 2
    assert second.lost
    assert second.lost.startswith("process")
    assert time.now - 100.0 >= WATCH_SECONDS + SETTLE_SECONDS


def test_a_run_that_ends_while_it_is_watched_is_followed() -> None:
    objects, time = in_memory(), Time()
    take(objects, time).beat()

    def end() -> None:
        objects.contents.setdefault("epochs/00000001.ended", b"")
        objects._versions.setdefault("epochs/00000001.ended", 0)

    time.at_each_second = end
    assert take(objects, time).number == 2


def test_of_two_that_take_over_at_once_one_is_refused() -> None:
    objects, time = in_memory(), Time()
    take(objects, time).beat()
    created = objects.create

    def overtaken(key: str, content: bytes) -> bool:
        assert created(key, b'{"process": 7, "host": "other", "since": "now", "token": "t"}')
        return bool(created(key, content))

    objects.create = overtaken
    with pytest.raises(UsageError, match="in use by process 7 on other since now"):
        take(objects, time)


def test_who_sees_a_newer_run_while_it_watches_is_refused() -> None:
    objects, time = in_memory(), Time()
    take(objects, time).beat()
    time.at_each_second = lambda: objects.create("epochs/00000002.json", b"{}")
    with pytest.raises(UsageError, match="in use by process"):
        take(objects, time)


def test_a_paused_run_writes_nothing_more_once_it_was_overtaken() -> None:
    objects, time = in_memory(), Time()
    first = take(objects, time)
    first.beat()
    second = take(objects, time)  # the first is paused meanwhile
    with pytest.raises(OvertakenError, match="another run has taken over"):
        first.confirm()
    assert first.overtaken
    before = dict(objects.contents)
    with pytest.raises(OvertakenError):
        first.beat()
    first._thread.start()
    first.__exit__(None, None, None)
    assert objects.contents == before, "not even that it has ended"
    second.confirm()


def test_a_run_writes_only_for_a_while_after_a_beat_that_saw_no_newer_one() -> None:
    objects, time = in_memory(), Time()
    held = take(objects, time)
    held.beat()
    changes = len(objects.changes)
    time.now += VALID_SECONDS
    held.confirm()
    assert len(objects.changes) == changes
    time.now += 0.1
    held.confirm()
    assert objects.changes[changes:] == ["+epochs/00000001.beat"]


def test_a_run_that_cannot_beat_may_not_write() -> None:
    objects, time = in_memory(), Time()
    held = take(objects, time)

    def lost(change: str) -> None:
        raise StorageLostError("lost")

    objects.before = lost
    time.now += VALID_SECONDS + 0.1
    with pytest.raises(StorageLostError):
        held.confirm()


def test_the_new_run_reads_after_all_that_the_old_one_may_have_begun() -> None:
    assert SETTLE_SECONDS >= VALID_SECONDS + 2 * epoch.PATIENCE
    assert WATCH_SECONDS >= 3 * epoch.BEAT_SECONDS


def test_a_thread_beats_while_a_run_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epoch, "BEAT_SECONDS", 0.005)
    objects, beaten = in_memory(), threading.Event()
    objects.before = lambda change: beaten.set() if objects.contents.get("epochs/00000001.beat") == b"3" else None
    with Epoch.take(objects):
        assert beaten.wait(10)


def test_an_owner_that_cannot_be_read_is_called_by_its_number() -> None:
    objects, time = in_memory(), Time()
    objects.put("epochs/00000004.json", b"[]")
    assert take(objects, time).lost == "run 4"
