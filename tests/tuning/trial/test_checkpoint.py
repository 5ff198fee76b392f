"""Checkpoints are whole or absent, damage is detected, and rows of a replay buffer are written once."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.tuning.trial.crash import Killed, killed_at
from tuning.algorithms.sac.replay_buffer import ReplayBuffer
from tuning.trial.checkpoint import Checkpoint, Checkpoints
from tuning.trial.checkpoint_files import DamageError, FormatError, TrialState

COPIES = 4


@dataclass
class Trainer:
    """Substitute for a trainer: numbers, and a buffer that it fills."""

    weights: np.ndarray = field(default_factory=lambda: np.zeros(8))
    replay: ReplayBuffer | None = None

    @classmethod
    def with_buffer(cls, size: int) -> Trainer:
        trainer = cls(replay=ReplayBuffer(size, COPIES, 5, 2, 0.9, seed=1))
        trainer.replay.begin(np.zeros((COPIES, 5)))  # type: ignore[union-attr]
        return trainer

    def train(self, rows: int) -> None:
        self.weights = self.weights + 1.0
        for _ in range(rows if self.replay else 0):
            number = self.replay.rows  # type: ignore[union-attr]
            row = np.full((COPIES, 5), number + 1), np.full((COPIES, 2), number)
            kinds = np.zeros(COPIES, np.uint8)
            self.replay.add(row[1], np.full(COPIES, number), kinds, row[0])  # type: ignore[union-attr]

    def get_state(self) -> dict[str, Any]:
        state: dict[str, Any] = {"weights": self.weights}
        return state if self.replay is None else {**state, "replay": self.replay.get_state()}

    def set_state(self, state: dict[str, Any], rows: Iterable[tuple[int, dict[str, np.ndarray]]] | None) -> None:
        self.weights = state["weights"]
        if self.replay is not None and rows is not None:
            self.replay.set_state(state["replay"], rows)


def save(folder: Path, trainer: Any, steps: int) -> None:
    Checkpoints(folder).save(trainer, TrialState(steps=steps, score=steps / 1000))


def held(buffer: ReplayBuffer) -> dict[str, np.ndarray]:
    return buffer.get_rows(buffer.oldest_row, buffer.rows)


def newest_in(folder: Path, damaged: int = 0) -> Checkpoint:
    """The newest whole checkpoint, with so many that are damaged after it."""
    newest, damage = Checkpoints(folder).newest()
    assert newest
    assert len(damage) == damaged
    return newest


def assert_restored(folder: Path, original: Trainer, size: int | None = None) -> None:
    restored: Any = Trainer.with_buffer(size) if size else Trainer()
    newest_in(folder).restore(restored)
    np.testing.assert_array_equal(restored.weights, original.weights)
    if size:
        assert original.replay
        for name, array in held(original.replay).items():
            np.testing.assert_array_equal(array, held(restored.replay)[name])
        np.testing.assert_array_equal(original.replay.observations, restored.replay.observations)


def test_what_was_saved_is_restored_and_the_newest_two_are_kept(tmp_path: Path) -> None:
    trainer, checkpoints = Trainer(), Checkpoints(tmp_path)
    assert checkpoints.newest() == (None, [])
    assert checkpoints.steps == 0
    for steps in (100, 200, 300):
        trainer.train(0)
        save(tmp_path, trainer, steps)
        assert newest_in(tmp_path).trial == TrialState(steps=steps, score=steps / 1000)
        assert checkpoints.steps == steps
        assert_restored(tmp_path, trainer)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000000000200", "000000000300"]


def test_a_buffer_is_written_once(tmp_path: Path) -> None:
    trainer = Trainer.with_buffer(4000)
    written = []
    for steps in range(1, 5):
        trainer.train(rows=100)
        before = {path.name for path in (tmp_path / "replay").glob("*")}
        save(tmp_path, trainer, steps)
        (new,) = {path for path in (tmp_path / "replay").glob("*") if path.name not in before}
        with np.load(new) as arrays:
            written.append(len(arrays["kinds"]) // COPIES)
    # A row more than is new, as a reset may have changed it.
    assert written == [100, 101, 101, 101]
    files = len(list((tmp_path / "replay").glob("*")))
    save(tmp_path, trainer, 5)
    assert len(list((tmp_path / "replay").glob("*"))) == files, "nothing is new"
    assert_restored(tmp_path, trainer, 4000)


def test_rows_that_no_checkpoint_needs_are_removed_and_those_that_one_needs_stay(tmp_path: Path) -> None:
    trainer = Trainer.with_buffer(40)
    for steps in range(1, 9):
        trainer.train(rows=4)
        save(tmp_path, trainer, steps)
        assert_restored(tmp_path, trainer, 40)
    # Ten rows of the newest, ten of the one before, which share all but the last four.
    assert len(list((tmp_path / "replay").glob("*"))) <= 5


def test_of_a_trial_that_waits_the_newest_is_kept_with_the_rows_that_it_needs(tmp_path: Path) -> None:
    trainer = Trainer.with_buffer(8 * COPIES)
    for steps in range(1, 6):
        trainer.train(3)
        save(tmp_path, trainer, steps)
    before = Checkpoints(tmp_path).nbytes
    Checkpoints(tmp_path).keep_one()
    assert [path.name for path in tmp_path.glob("0*")] == ["000000000005"]
    assert Checkpoints(tmp_path).nbytes < before
    assert_restored(tmp_path, trainer, 8 * COPIES)
    # It goes on from there.
    trainer.train(3)
    save(tmp_path, trainer, 6)
    assert_restored(tmp_path, trainer, 8 * COPIES)


def test_the_one_that_is_rated_stays_for_its_policy(tmp_path: Path) -> None:
    trainer, checkpoints = Trainer.with_buffer(40), Checkpoints(tmp_path)
    weights = {}
    for steps in range(1, 7):
        trainer.train(rows=10)
        weights[steps] = trainer.weights
        checkpoints.save(trainer, TrialState(steps=steps, kept_steps=min(steps, 2)))
    assert sorted(path.name for path in tmp_path.glob("0*")) == [f"{steps:012d}" for steps in (2, 5, 6)]
    checkpoints.keep_one()
    assert sorted(path.name for path in tmp_path.glob("0*")) == [f"{steps:012d}" for steps in (2, 6)]
    assert_restored(tmp_path, trainer, 40)
    acting: Any = Trainer.with_buffer(40)
    checkpoints.policy_at(2).restore(acting)
    np.testing.assert_array_equal(acting.weights, weights[2])
    (tmp_path / f"{2:012d}" / "arrays.npz").write_bytes(b"")
    for steps in (2, 3):
        with pytest.raises(DamageError):
            checkpoints.policy_at(steps)


def test_where_the_newest_is_damaged_the_one_before_stays(tmp_path: Path) -> None:
    trainer = Trainer()
    for steps in (1, 2):
        save(tmp_path, trainer, steps)
    (tmp_path / "000000000002" / "arrays.npz").write_bytes(b"")
    Checkpoints(tmp_path).keep_one()
    assert newest_in(tmp_path, damaged=1).trial.steps == 1


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


DAMAGES = (flip, cut, empty, Path.unlink)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("file", ["arrays.npz", "state.json", "replay"])
def test_damage_is_found_and_the_checkpoint_before_is_used(tmp_path: Path, file: str, damage: Callable[[Path], None]) -> None:
    trainer = Trainer.with_buffer(400)
    trainer.train(rows=9)
    save(tmp_path, trainer, 1)
    before = copy.deepcopy(trainer)
    trainer.train(rows=9)
    save(tmp_path, trainer, 2)
    path = max((tmp_path / "replay").glob("*")) if file == "replay" else tmp_path / "000000000002" / file
    damage(path)
    checkpoints = Checkpoints(tmp_path)
    newest, said = checkpoints.newest()
    assert newest.trial.steps == 1
    assert len(said) == 1
    assert path.name in said[0]
    # The trial goes on from there, and writes what was damaged anew.
    checkpoints.drop_after(1)
    assert_restored(tmp_path, before, 400)
    before.train(rows=9)
    save(tmp_path, before, 2)
    assert_restored(tmp_path, before, 400)


def test_a_damaged_older_checkpoint_changes_nothing(tmp_path: Path) -> None:
    trainer = Trainer()
    for steps in (1, 2):
        save(tmp_path, trainer, steps)
    empty(tmp_path / "000000000001" / "state.json")
    save(tmp_path, trainer, 3)
    assert_restored(tmp_path, trainer)


def test_what_a_trainer_cannot_take_is_refused_with_the_checkpoint_named(tmp_path: Path) -> None:
    save(tmp_path, Trainer(), 1)
    other: Any = Trainer.with_buffer(64)
    with pytest.raises(FormatError, match="000000000001 is not one of this trial: 'replay'"):
        newest_in(tmp_path).restore(other)


def test_copies_beside_checkpoints_are_left_alone(tmp_path: Path) -> None:
    save(tmp_path, Trainer(), 1)
    copy_of = shutil.copytree(tmp_path / "000000000001", tmp_path / "000000000001 (copy)")
    for name in ("2019", "9" * 30):
        (tmp_path / name).mkdir()
    checkpoints = Checkpoints(tmp_path)
    assert checkpoints.steps == 1
    for steps in (2, 3, 4):
        save(tmp_path, Trainer(), steps)
    checkpoints.drop_after(3)
    assert {path.name for path in tmp_path.iterdir()} == {"000000000003", "2019", "9" * 30, copy_of.name}


@pytest.mark.parametrize("after", [False, True])
def test_a_kill_at_any_disk_operation_costs_the_newest_checkpoint_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    def begun(folder: Path) -> Trainer:
        trainer = Trainer.with_buffer(60)
        for steps in (1, 2, 3):
            trainer.train(rows=9)
            save(folder, trainer, steps)
        trainer.train(rows=9)
        return trainer

    with killed_at(monkeypatch, 0, after) as operations:
        trainer = begun(tmp_path / "whole")
        before = operations()
        save(tmp_path / "whole", trainer, 4)
        count = operations() - before
    assert count > 10
    reached = set()
    for operation in range(1, count + 1):
        folder = tmp_path / str(operation)
        trainer = begun(folder)
        with pytest.raises(Killed), killed_at(monkeypatch, operation, after):
            save(folder, trainer, 4)
        newest = newest_in(folder)
        reached.add(newest.trial.steps)
        # The trial goes on from there, and saves again.
        again = Trainer.with_buffer(60)
        newest.restore(again)  # type: ignore[arg-type]
        if newest.trial.steps == 3:
            again.train(rows=9)
        save(folder, again, 4)
        assert_restored(folder, trainer, 60)
        shutil.rmtree(folder)
    assert reached == {3, 4}
