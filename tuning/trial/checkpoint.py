"""Checkpoints of a trial. Each is written whole; the newest two are kept, and the one that the trial is rated by.

    trials/00003/
      000000125000/            a checkpoint, named by the steps: see `tuning.trial.checkpoint_files`
        arrays.npz
        state.json
      replay/
        0000000000-0000001953.npz   rows of the replay buffer, shared by checkpoints

Rows of a replay buffer never change, so each checkpoint writes only the new ones. One that is kept for its policy alone
has none.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.files import sync_folder
from tuning.storage.search_files import StoredCheckpoints
from tuning.storage.trial_files import REPLAY
from tuning.trial.checkpoint_files import (
    ARRAYS,
    DamageError,
    FormatError,
    State,
    TrialState,
    check_file,
    fingerprint,
    read_state,
    rows_of,
    write_state,
)
from tuning.trial.packed_state import StateError, read_arrays, unpack, write_arrays

if TYPE_CHECKING:
    from tuning.algorithms.trainer import Trainer

KEPT = 2  # checkpoints of a trial that runs

# What RLlib, torch and NumPy raise where they are given the values of another trainer, or values that no trainer has.
MISFITS = (StateError, ValueError, KeyError, IndexError, TypeError, AttributeError, RuntimeError, OverflowError, AssertionError)

_NEW = "new"
_NAME = re.compile("[0-9]{12,18}")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint with files that were checked."""

    folder: Path  # of the checkpoint
    trial: TrialState  # how far the trial was
    trainer: Any  # state of the trainer, packed
    # Number of the first row and path of each file of the replay buffer, in order; None where it is to act alone.
    rows: tuple[tuple[int, Path], ...] | None

    def restore(self, trainer: Trainer) -> None:
        """Set a trainer to the state of this checkpoint; FormatError if that is one of another trainer."""
        try:
            state = unpack(self.trainer, read_arrays(self.folder / ARRAYS))
            trainer.set_state(state, None if self.rows is None else ((first, read_arrays(path)) for first, path in self.rows))
        except MISFITS as error:
            raise FormatError(f"checkpoint {self.folder} is not one of this trial: {error}") from error


class Checkpoints:
    """Checkpoints of one trial, by its folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._row_files: dict[Path, dict[str, dict[str, Any]]] = {}  # of checkpoints that were saved here, by folder

    def newest(self) -> tuple[Checkpoint | None, list[str]]:
        """The newest checkpoint without damage, None without one; and a line about each newer one, which are damaged.

        Raises a FormatError if one was written by another version.
        """
        damage: list[str] = []
        for folder in reversed(self._complete()):
            try:
                return _checked(folder), damage
            except DamageError as error:
                damage.append(f"checkpoint {folder} is damaged: {error}")
        return None, damage

    def policy_at(self, steps: int) -> Checkpoint:
        """The checkpoint with these steps, to act and not to learn on; DamageError if it is damaged or not there."""
        folder = self._folder / _name(steps)
        state = _with_arrays(folder)
        return Checkpoint(folder, state.trial, state.trainer, None)

    @property
    def steps(self) -> int:
        """Steps of the newest one, damaged or not; 0 without one."""
        return max((int(folder.name) for folder in self._complete()), default=0)

    @property
    def nbytes(self) -> int:
        """Their size on the disk, bytes."""
        return sum(path.stat().st_size for path in self._folder.rglob("*") if path.is_file())

    def save(self, trainer: Trainer, trial: TrialState) -> None:
        """Write a checkpoint, and remove those before the newest two but the one that is rated."""
        self._folder.mkdir(parents=True, exist_ok=True)
        rows = self._save_rows(trainer)
        new, target = self._folder / _NEW, self._folder / _name(trial.steps)
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        write_state(new, trial, trainer.get_state(), rows)
        # An existing one is damaged, or its steps are trained again after a kill.
        shutil.rmtree(target, ignore_errors=True)
        new.rename(target)
        sync_folder(self._folder)
        self._row_files[target] = rows
        self._drop_old(KEPT, trial.kept_steps)

    def keep_one(self) -> None:
        """Remove all but the newest and the one that is rated; where the newest is damaged, all stay."""
        complete = self._complete()
        newest = complete[-1:]
        if complete == newest and not (self._folder / REPLAY).is_dir():
            return  # of thousands of frozen trials none is read
        for folder in newest:
            try:
                self._drop_old(1, _with_arrays(folder).trial.kept_steps)
            except DamageError:
                return

    def remove(self) -> None:
        """Remove all of them."""
        if self._folder.is_dir():
            shutil.rmtree(self._folder)

    def _save_rows(self, trainer: Trainer) -> dict[str, dict[str, Any]]:
        """Write the rows of the replay buffer that no file has yet; fingerprints of all its files, by name."""
        buffer = trainer.replay
        if buffer is None:
            return {}
        newest = self._complete()[-1:]
        files = {name: value for folder in newest for name, value in self._rows_of(folder).items()}
        # The buffer has overwritten older rows.
        files = {name: value for name, value in files.items() if rows_of(name)[1] > buffer.oldest_row}
        # A reset changes the last row, so that one is written again.
        saved = max((rows_of(name)[1] for name in files), default=0)
        first = max(saved - 1, buffer.oldest_row)
        while saved < buffer.rows:
            # A limited number at once: copies of them are in memory until they are written.
            last = min(buffer.rows, max(saved, first) + buffer.rows_per_file)
            path = self._folder / REPLAY / f"{first:010d}-{last:010d}.npz"
            path.parent.mkdir(exist_ok=True)
            write_arrays(path, buffer.get_rows(first, last))
            files[f"{REPLAY}/{path.name}"] = fingerprint(path)
            saved = first = last
        if files:
            sync_folder(self._folder / REPLAY)
        return files

    def drop_after(self, steps: int) -> None:
        """Remove checkpoints with more steps, which are damaged: the trial continues from before them."""
        for folder in self._complete():
            if int(folder.name) > steps:
                shutil.rmtree(folder)

    def _drop_old(self, kept: int, rated: int) -> None:
        """Remove all but the newest and the one with the rated steps, and files of rows that the newest do not need."""
        complete = self._complete()
        for folder in complete[:-kept]:
            if folder.name != _name(rated):
                shutil.rmtree(folder)
        if not (self._folder / REPLAY).is_dir():
            return
        needed = {name for folder in complete[-kept:] for name in self._rows_of(folder)}
        for path in (self._folder / REPLAY).glob("*"):
            if f"{REPLAY}/{path.name}" not in needed:
                path.unlink()

    def _rows_of(self, folder: Path) -> dict[str, dict[str, Any]]:
        """Fingerprints of a checkpoint's files of rows by name; none if it is damaged."""
        if folder not in self._row_files:
            try:
                self._row_files[folder] = read_state(folder).rows
            except DamageError:
                self._row_files[folder] = {}
        return self._row_files[folder]

    def _complete(self) -> list[Path]:
        return sorted(path for path in self._folder.glob("[0-9]*") if _NAME.fullmatch(path.name) and path.is_dir())


KeptCheckpoints = Checkpoints | StoredCheckpoints  # what a driver has of a trial's checkpoints, wherever they are


def _name(steps: int) -> str:
    return f"{steps:012d}"


def _with_arrays(folder: Path) -> State:
    """What a checkpoint says, after comparing its arrays with their fingerprint; DamageError if one is damaged."""
    state = read_state(folder)
    check_file(folder / ARRAYS, state.files[ARRAYS])
    return state


def _checked(folder: Path) -> Checkpoint:
    """A checkpoint, after comparing every byte of it with its fingerprints."""
    state = read_state(folder)
    for name, expected in state.files.items():
        check_file((folder if name == ARRAYS else folder.parent) / name, expected)
    rows = sorted((rows_of(name)[0], folder.parent / name) for name in state.rows)
    return Checkpoint(folder, state.trial, state.trainer, tuple(rows))
