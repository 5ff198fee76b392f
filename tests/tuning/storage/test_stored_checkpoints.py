"""Checkpoints as objects: one without its state is none."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.tuning.storage.stand_in import KilledError, dies_at, in_memory
from tuning.storage.stored_checkpoints import StoredCheckpoints, complete, remove_states_first
from tuning.trial.checkpoint_files import TrialState, write_state


def saved(objects: Any, number: int, steps: int, rows: tuple[str, ...] = (), damaged: bool = False) -> None:
    folder = f"trials/{number:05d}"
    for name in rows:
        objects.put(f"{folder}/{name}", b"rows")
    with TemporaryDirectory() as own:
        # As a trial writes it.
        write_state(Path(own), TrialState(steps=steps), {}, {name: {"bytes": 4, "sha256": ""} for name in rows})
        for path in sorted(Path(own).iterdir()):
            objects.put(f"{folder}/{steps:012d}/{path.name}", path)
    if damaged:
        objects.put(f"{folder}/{steps:012d}/arrays.npz", b"cut")


def names(objects: Any) -> list[str]:
    return [key.removeprefix("trials/00003/") for key in objects.listed("trials/00003/")]


def test_the_newest_is_the_one_with_most_steps_and_its_state() -> None:
    objects = in_memory()
    own = StoredCheckpoints(objects, 3)
    assert (own.steps, own.nbytes) == (0, 0)
    saved(objects, 3, 500)
    saved(objects, 3, 1000)
    saved(objects, 31, 9000)
    objects.put("trials/00003/000000002000/arrays.npz", b"interrupted")
    objects.put("trials/00003.turn", b"turn")
    assert own.steps == 1000
    assert own.nbytes == sum(len(content) for key, content in objects.contents.items() if key.startswith("trials/00003/"))
    assert complete(["1/state.json", "x/state.json", "replay/1.npz", "2/arrays.npz", "2/deep/state.json"]) == ["1"]


def test_one_is_kept_with_the_rows_that_it_needs() -> None:
    objects = in_memory()
    saved(objects, 3, 500, ("replay/0-1.npz", "replay/1-2.npz"))
    saved(objects, 3, 1000, ("replay/1-2.npz",))
    objects.put("trials/00003/000000002000/arrays.npz", b"interrupted")
    StoredCheckpoints(objects, 3).keep_one()
    assert names(objects) == ["000000001000/arrays.npz", "000000001000/state.json", "replay/1-2.npz"]


@pytest.mark.parametrize("state", [b"{}", b"[]", b"\xff", b'{"content": {"files": {"arrays.npz": {}}}}'])
def test_where_the_newest_is_not_whole_all_stay(state: bytes) -> None:
    objects = in_memory()
    saved(objects, 3, 500)
    saved(objects, 3, 1000, damaged=True)
    before = names(objects)
    StoredCheckpoints(objects, 3).keep_one()
    objects.put("trials/00003/000000001000/state.json", state)
    StoredCheckpoints(objects, 3).keep_one()
    assert names(objects) == before


@pytest.mark.parametrize("kill_at", range(5))
def test_a_kill_while_they_are_removed_leaves_whole_ones(kill_at: int) -> None:
    objects = in_memory()
    saved(objects, 3, 500)
    saved(objects, 3, 1000)
    dies_at(objects, kill_at)
    try:
        StoredCheckpoints(objects, 3).remove()
        assert kill_at == 4
        assert names(objects) == []
    except KilledError:
        assert kill_at < 4
    for name in complete(names(objects)):
        assert f"{name}/arrays.npz" in names(objects)


def test_states_go_first() -> None:
    objects = in_memory()
    saved(objects, 3, 500)
    remove_states_first(objects, objects.listed())
    assert objects.changes[-2:] == ["-trials/00003/000000000500/state.json", "-trials/00003/000000000500/arrays.npz"]
