"""One run at a time holds an experiment in a storage."""

import threading
from itertools import pairwise
from typing import Any

import pytest

from common.errors import UsageError
from common.storage.faults import StorageLostError
from tests.tuning.storage.stand_in import in_memory
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
    return Epoch.take(objects, (said if said is not None else []).append, time, time.sleep, time)


def test_runs_have_numbers_one_after_the_other_and_say_when_they_end() -> None:
    objects, time = in_memory(), Time()
    for number in (1, 2, 3):
        with take(objects, time) as held:
            assert (held.number, held.lost) == (number, None)
            held.confirm()
    assert newest(objects.listed()) == 3
    assert {f"epochs/0000000{number}.ended" for number in (1, 2, 3)} <= objects.contents.keys()
    assert time.now == 100.0, "a run that has ended is not waited for"


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


@pytest.mark.parametrize("clock", ["clock", "wall_clock"])
@pytest.mark.parametrize("passed", [VALID_SECONDS + 0.1, -0.1])
def test_after_a_suspension_that_one_clock_shows_it_beats_first(clock: str, passed: float) -> None:
    objects, time, other = in_memory(), Time(), Time()
    held = Epoch(objects, 1, None, **{"clock": other, "wall_clock": other, clock: time})  # type: ignore[arg-type]
    held.beat()
    changes = len(objects.changes)
    held.confirm()
    assert len(objects.changes) == changes
    time.now += passed
    held.confirm()
    assert objects.changes[changes:] == ["+epochs/00000001.beat"]


def test_a_run_that_takes_over_beats_while_it_waits() -> None:
    objects, time = in_memory(), Time()
    take(objects, time).beat()
    seen: list[tuple[float, str | None]] = []

    def note() -> None:
        if "epochs/00000002.json" in objects.contents:
            seen.append((time.now, objects.contents.get("epochs/00000002.beat")))

    time.at_each_second = note
    take(objects, time)
    times, beats = [at for at, _ in seen], [beat for _, beat in seen]
    assert beats == [b"1", b"2", b"3"]
    assert max(later - earlier for earlier, later in pairwise(times)) <= epoch.BEAT_SECONDS


def test_a_run_that_waits_and_cannot_beat_goes_on_to_its_first_write() -> None:
    objects, time = in_memory(), Time()
    take(objects, time).beat()

    def lost(change: str) -> None:
        if change.endswith("2.beat"):
            raise StorageLostError("lost")

    objects.before = lost
    held = take(objects, time)
    with pytest.raises(StorageLostError):
        held.confirm()


def test_an_epoch_that_was_removed_and_begun_anew_meanwhile_is_not_followed() -> None:
    objects, time = in_memory(), Time()
    with take(objects, time):
        pass
    created = objects.create

    def anew(key: str, content: bytes) -> bool:
        objects.remove(list(objects.contents))
        created("epochs/00000001.json", b"{}")
        return bool(created(key, content))

    objects.create = anew
    with pytest.raises(UsageError, match="just removed by another run: start the command again"):
        take(objects, time)
    assert objects.contents.keys() == {"epochs/00000001.json"}


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
    # A beat is two requests, and each takes the patience and one attempt more.
    assert WATCH_SECONDS > epoch.BEAT_SECONDS + 4 * epoch.PATIENCE


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
