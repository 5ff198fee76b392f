"""One run at a time holds an experiment in a storage."""

import json
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from common.errors import UsageError
from common.storage import objects as objects_module
from common.storage.faults import StorageLostError
from common.storage.objects import Objects
from results.places import PATIENCE as READER
from tests.tuning.storage.stand_in import Changes
from tuning.storage import lease
from tuning.storage.lease import Guarded, Lease, OvertakenError, has_ended, run_key

FIRST, SECOND = run_key(1), run_key(2)


class Time:
    """Clocks that run while somebody sleeps, and what happens then."""

    def __init__(self) -> None:
        self.passed, self.of_day = 100.0, 100.0
        self.at_each_sleep: Any = lambda: None

    def monotonic(self) -> float:
        return self.passed

    def time(self) -> float:
        return self.of_day

    def sleep(self, seconds: float) -> None:
        self.passed += seconds
        self.of_day += seconds
        self.at_each_sleep()


@pytest.fixture
def time(objects: Objects, monkeypatch: pytest.MonkeyPatch) -> Time:
    clocks = Time()
    for name, seconds in (("WATCH_SECONDS", 30.0), ("SETTLE_SECONDS", 15.0), ("LOOK_SECONDS", 1.0)):
        monkeypatch.setattr(lease, name, seconds)
    monkeypatch.setattr(lease, "time", clocks)
    return clocks


def ended(objects: Objects, number: int) -> bool:
    return bool(json.loads(objects.read(run_key(number))).get("ended"))


def test_runs_have_numbers_one_after_the_other_and_say_when_they_end(objects: Objects, time: Time) -> None:
    assert has_ended(objects)
    for number in (1, 2, 3):
        with Lease.take(objects) as held:
            assert (held.number, held.lost) == (number, "")
            assert not has_ended(objects)
            held.confirm()
    assert all(ended(objects, number) for number in (1, 2, 3))
    assert time.passed == 100.0, "a run that has ended is not waited for"


def test_a_second_run_is_refused_while_the_first_beats(objects: Objects, time: Time) -> None:
    first = Lease.take(objects)
    first.beat()
    time.at_each_sleep = first.beat
    said: list[str] = []
    with pytest.raises(UsageError, match=r"one is in use by process \d+ on .* since .*: wait for it to end"):
        Lease.take(objects, said.append)
    assert objects.listed().keys() == {FIRST}
    assert "has not ended" in said[0]


def test_a_run_that_does_not_beat_is_followed_after_it_was_watched(objects: Objects, time: Time) -> None:
    Lease.take(objects).beat()
    second = Lease.take(objects)
    assert second.number == 2
    assert second.lost.startswith("process")
    assert time.passed - 100.0 >= lease.WATCH_SECONDS + lease.SETTLE_SECONDS


def test_a_run_that_ends_while_it_is_watched_is_followed(objects: Objects, time: Time) -> None:
    first = Lease.take(objects)
    first.beat()
    time.at_each_sleep = lambda: first._put(ended=True)
    assert Lease.take(objects).number == 2


def test_of_two_that_take_over_at_once_one_is_refused(objects: Objects, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    Lease.take(objects).beat()
    create = Objects.create

    def overtaken(own: Objects, key: str, content: bytes) -> bool:
        assert create(own, key, b'{"process": 7, "host": "other", "since": "now", "token": "t"}')
        return create(own, key, content)

    monkeypatch.setattr(Objects, "create", overtaken)
    with pytest.raises(UsageError, match="in use by process 7 on other since now"):
        Lease.take(objects)


def test_who_sees_a_newer_run_while_it_watches_is_refused(objects: Objects, time: Time) -> None:
    Lease.take(objects).beat()
    time.at_each_sleep = lambda: objects.create(SECOND, b"{}")
    with pytest.raises(UsageError, match="in use by process"):
        Lease.take(objects)


def test_a_paused_run_writes_nothing_more_once_it_was_overtaken(objects: Objects, time: Time) -> None:
    first = Lease.take(objects)
    first.beat()
    second = Lease.take(objects)  # the first is paused meanwhile
    with pytest.raises(OvertakenError, match="another run has taken over"):
        first.confirm()
    assert first.overtaken
    before = objects.listed()
    with pytest.raises(OvertakenError):
        first.beat()
    first._thread.start()
    first.__exit__(None, None, None)
    assert objects.listed() == before, "not even that it has ended"
    second.confirm()


@pytest.mark.parametrize("clock", ["passed", "of_day"])
@pytest.mark.parametrize(("seconds", "beats"), [(lease.VALID_SECONDS, 0), (lease.VALID_SECONDS + 0.1, 1), (-0.1, 1)])
def test_a_run_writes_only_for_a_while_after_a_beat_by_both_clocks(
    objects: Objects, time: Time, clock: str, seconds: float, beats: int
) -> None:
    """One clock stands still while the machine is suspended; the other may be put back."""
    held = Lease.take(objects)
    held.beat()
    setattr(time, clock, getattr(time, clock) + seconds)
    before = objects.stamp(FIRST)
    held.confirm()
    assert (objects.stamp(FIRST) != before) == bool(beats)


def test_a_run_that_takes_over_beats_while_it_waits(objects: Objects, time: Time) -> None:
    Lease.take(objects).beat()
    seen: list[tuple[float, int]] = []

    def note() -> None:
        if objects.has(SECOND):
            seen.append((time.passed, json.loads(objects.read(SECOND)).get("beats", 0)))

    time.at_each_sleep = note
    Lease.take(objects)
    assert [beats for _, beats in seen] == [1, 2, 3]
    assert max(later - earlier for (earlier, _), (later, _) in pairwise(seen)) <= lease.BEAT_SECONDS


def test_a_run_that_cannot_beat_takes_over_and_may_not_write(objects: Objects, time: Time, changes: Changes) -> None:
    Lease.take(objects).beat()

    def lost(change: str) -> None:
        if change == f"+{SECOND}" and objects.has(SECOND):
            raise StorageLostError("lost")

    changes.before = lost
    held = Lease.take(objects)
    with pytest.raises(StorageLostError):
        held.confirm()


def test_an_experiment_that_was_removed_and_begun_anew_meanwhile_is_not_followed(
    objects: Objects, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Lease.take(objects):
        pass
    create = Objects.create

    def anew(own: Objects, key: str, content: bytes) -> bool:
        monkeypatch.setattr(Objects, "create", create)
        own.remove(own.listed())
        with Lease.take(own):
            pass
        return create(own, key, content)

    monkeypatch.setattr(Objects, "create", anew)
    with pytest.raises(UsageError, match="just removed by another run: start the command again"):
        Lease.take(objects)
    assert objects.listed().keys() == {run_key(1)}, "the run of the third one stays"


def test_who_removes_an_experiment_leaves_nothing_that_tells_of_runs(objects: Objects, time: Time) -> None:
    for _ in range(2):
        with Lease.take(objects) as held:
            pass
    with Lease.take(objects) as held:
        held.remove()
        held.beat()
    assert objects.listed() == {}


def test_the_new_run_reads_after_all_that_the_old_one_may_have_begun() -> None:
    assert lease.SETTLE_SECONDS >= lease.VALID_SECONDS + 2 * lease.PATIENCE
    # A beat is two requests, and each takes the patience and one attempt more.
    assert lease.WATCH_SECONDS > lease.BEAT_SECONDS + 4 * lease.PATIENCE
    assert lease.WATCH_SECONDS + lease.SETTLE_SECONDS > 2 * lease.LARGE_PATIENCE


def test_the_page_says_how_long_a_storage_is_waited_for() -> None:
    """No attempt begins after the patience, and the last may take a whole request. A trial waits, then its driver does."""
    page = (Path(__file__).parents[3] / "docs" / "storage.md").read_text(encoding="utf-8")
    attempt = objects_module.PATIENCE + objects_module._MOST_REQUEST
    assert 2 * attempt < 180
    assert f"for {READER:.0f}-{READER + objects_module._MOST_REQUEST:.0f} s by readers" in page
    assert f"{lease.LOST_SECONDS / 60:.0f}-3 minutes by searches" in page


def test_a_thread_beats_while_a_run_is_held(objects: Objects, changes: Changes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "BEAT_SECONDS", 0.005)
    beats, beaten = [0], threading.Event()

    def note(change: str) -> None:
        beats[0] += 1
        if beats[0] == 4:
            beaten.set()

    changes.before = note
    with Lease.take(objects):
        assert beaten.wait(10)


def test_a_run_that_cannot_be_read_is_called_by_its_number(objects: Objects, time: Time) -> None:
    objects.put(run_key(4), b"[]")
    assert Lease.take(objects).lost == "run 4"


def test_each_attempt_at_a_change_is_confirmed_and_fails_only_for_a_while(objects: Objects, changes: Changes) -> None:
    asked: list[int] = []
    failures = [StorageLostError("1"), StorageLostError("2")]

    def before(change: str) -> None:
        if failures:
            raise failures.pop()

    changes.before = before
    Guarded(objects.location, lambda: asked.append(1)).put("a", b"1")
    assert (asked, changes) == ([1, 1, 1], ["+a"])
    failures.append(StorageLostError("for ever"))
    with pytest.raises(StorageLostError, match="for ever"):
        Guarded(objects.location, lambda: None, lost_seconds=-1.0).remove(["a"])


def test_who_was_overtaken_in_the_middle_of_a_change_makes_no_other_attempt(objects: Objects, changes: Changes) -> None:
    def lost(change: str) -> None:
        raise StorageLostError("lost")

    def confirm() -> None:
        if tried:
            raise OvertakenError("overtaken")
        tried.append(1)

    tried: list[int] = []
    changes.before = lost
    with pytest.raises(OvertakenError):
        Guarded(objects.location, confirm).put("a", b"1")
    assert changes == []


def test_a_large_file_has_more_time(objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "LARGE", 4)
    put, patience = Objects.put, dict[str, float]()

    def noted(own: Objects, key: str, content: Any) -> None:
        patience[key] = own._patience
        put(own, key, content)

    monkeypatch.setattr(Objects, "put", noted)
    for name in ("tiny", "larger"):
        (tmp_path / name).write_text(name)
    Guarded(objects.location, lambda: None).put_all((name, tmp_path / name) for name in ("tiny", "larger"))
    assert patience == {"tiny": lease.PATIENCE, "larger": lease.LARGE_PATIENCE}
