"""Checkpoints of a trial. Each is written whole, the newest two are kept, and damaged ones are skipped.

    trials/00003/
      000000125000/            a checkpoint, named by the steps
        state.pickle           the trainer: networks, optimizers, statistics, random numbers, where the environment is
        manifest.json          how far the trial is; size and SHA-256 of each file of the checkpoint
      replay/
        0000000000-0000001953.npz   rows of the replay buffer, shared by checkpoints

Rows of a replay buffer never change, so each checkpoint writes only the new ones.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from common.files import sync_folder, write_whole

if TYPE_CHECKING:
    from tuning.algorithms.trainer import Trainer

KEPT = 2  # checkpoints of a trial

_STATE = "state.pickle"
_MANIFEST = "manifest.json"
_REPLAY = "replay"
_NEW = "new"


@dataclass
class TrialState:
    """How far a trial is: the part of its checkpoint beside the trainer.

    Attributes:
        steps: environment steps.
        updates: rounds of collecting and learning.
        evaluated_steps: steps at the last evaluation; 0 before the first.
        score: of the last evaluation.
        seconds: wall time.
        environment_seconds: part of it in environments.
        learner_seconds: part of it in gradient steps.
        evaluation_seconds: part of it in evaluations.
        peak_rss_bytes: largest measured host memory of the process.
        peak_vram_bytes: largest GPU memory that torch allocated.
        peak_process_vram_bytes: largest GPU memory of the process.
    """

    steps: int = 0
    updates: int = 0
    evaluated_steps: int = 0
    score: float | None = None
    seconds: float = 0.0
    environment_seconds: float = 0.0
    learner_seconds: float = 0.0
    evaluation_seconds: float = 0.0
    peak_rss_bytes: int = 0
    peak_vram_bytes: int = 0
    peak_process_vram_bytes: int = 0


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint with files that were checked.

    Attributes:
        folder: of the checkpoint.
        trial: how far the trial was.
        rows: number of the first row and path of each file of the replay buffer, in order.
    """

    folder: Path
    trial: TrialState
    rows: tuple[tuple[int, Path], ...]

    def restore(self, trainer: Trainer) -> None:
        """Set a trainer to the state of this checkpoint."""
        state = pickle.loads((self.folder / _STATE).read_bytes())
        trainer.set_state(state, self._rows())

    def _rows(self) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
        for first, path in self.rows:
            with np.load(path, allow_pickle=False) as arrays:
                yield first, dict(arrays)


class Checkpoints:
    """Checkpoints of one trial.

    Args:
        folder: of the trial.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def newest(self) -> tuple[Checkpoint | None, list[str]]:
        """The newest checkpoint without damage.

        Returns:
            The checkpoint, None if there is none; and a line about each newer one, which are damaged.
        """
        damage: list[str] = []
        for folder in reversed(self._complete()):
            try:
                return _checked(folder), damage
            except _DamageError as error:
                damage.append(f"checkpoint {folder} is damaged: {error}")
        return None, damage

    @property
    def steps(self) -> int:
        """Steps of the newest one, damaged or not; 0 without one."""
        return max((int(folder.name) for folder in self._complete()), default=0)

    @property
    def nbytes(self) -> int:
        """Their size on the disk, bytes."""
        return sum(path.stat().st_size for path in self._folder.rglob("*") if path.is_file())

    def save(self, trainer: Trainer, trial: TrialState) -> None:
        """Write a checkpoint, and remove those before the newest two.

        Args:
            trainer: to be saved.
            trial: how far it is.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        files = self._save_rows(trainer)
        new, target = self._folder / _NEW, self._folder / f"{trial.steps:012d}"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        write_whole(new / _STATE, lambda file: pickle.dump(trainer.get_state(), file, protocol=5))
        files[_STATE] = _fingerprint(new / _STATE)
        _write_manifest(new, {"trial": asdict(trial), "files": files})
        # An existing one is damaged, or its steps are trained again after a kill.
        shutil.rmtree(target, ignore_errors=True)
        new.rename(target)
        sync_folder(self._folder)
        self._drop_old()

    def remove(self) -> None:
        """Remove all of them."""
        if self._folder.is_dir():
            shutil.rmtree(self._folder)

    def _save_rows(self, trainer: Trainer) -> dict[str, dict[str, Any]]:
        """Write the rows of the replay buffer that no file has yet.

        Returns:
            Fingerprints of all files that the buffer now consists of, by name.
        """
        buffer = trainer.replay
        if buffer is None:
            return {}
        newest = self._complete()[-1:]
        files = {name: value for folder in newest for name, value in _manifest(folder)["files"].items() if name != _STATE}
        # The buffer has overwritten older rows.
        files = {name: value for name, value in files.items() if _range(name)[1] > buffer.oldest_row}
        # A reset changes the last row, so that one is written again.
        saved = max((_range(name)[1] for name in files), default=0)
        first = max(saved - 1, buffer.oldest_row)
        while saved < buffer.rows:
            # A limited number at once: copies of them are in memory until they are written.
            last = min(buffer.rows, max(saved, first) + buffer.rows_per_file)
            path = self._folder / _REPLAY / f"{first:010d}-{last:010d}.npz"
            path.parent.mkdir(exist_ok=True)
            _write_arrays(path, buffer.get_rows(first, last))
            files[f"{_REPLAY}/{path.name}"] = _fingerprint(path)
            saved = first = last
        if files:
            sync_folder(self._folder / _REPLAY)
        return files

    def drop_after(self, steps: int) -> None:
        """Remove checkpoints with more steps, which are damaged: the trial continues from before them."""
        for folder in self._complete():
            if int(folder.name) > steps:
                shutil.rmtree(folder)

    def _drop_old(self) -> None:
        """Remove all but the newest two, and files of rows that these do not need."""
        complete = self._complete()
        for folder in complete[:-KEPT]:
            shutil.rmtree(folder)
        needed = {name for folder in complete[-KEPT:] for name in _files(folder)}
        for path in (self._folder / _REPLAY).glob("*"):
            if f"{_REPLAY}/{path.name}" not in needed:
                path.unlink()

    def _complete(self) -> list[Path]:
        """Checkpoints that were renamed into place, oldest first."""
        return sorted(path for path in self._folder.glob("[0-9]*") if path.is_dir())


def _write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    write_whole(path, lambda file: np.savez(file, **arrays))  # type: ignore[arg-type]


class _DamageError(Exception):
    """A file of a checkpoint is missing or has changed; names it."""


def _checked(folder: Path) -> Checkpoint:
    """A checkpoint, after comparing every byte of it with its manifest."""
    manifest = _manifest(folder)
    rows = []
    for name, fingerprint in manifest["files"].items():
        path = (folder if name == _STATE else folder.parent) / name
        if not path.is_file():
            raise _DamageError(f"{path} is missing")
        if _fingerprint(path) != fingerprint:
            raise _DamageError(f"{path} has changed since it was written")
        if name != _STATE:
            rows.append((_range(name)[0], path))
    return Checkpoint(folder, TrialState(**manifest["trial"]), tuple(sorted(rows)))


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / _MANIFEST
    try:
        outer = json.loads(path.read_text(encoding="utf-8"))
        content, checksum = outer["content"], outer["sha256"]
    except FileNotFoundError:
        raise _DamageError(f"{path} is missing") from None
    except (ValueError, KeyError, TypeError):
        raise _DamageError(f"{path} cannot be read") from None
    if checksum != _checksum(content):
        raise _DamageError(f"{path} has changed since it was written")
    manifest: dict[str, Any] = content
    return manifest


def _files(folder: Path) -> set[str]:
    """Names of the files of a checkpoint; none if its manifest is damaged."""
    try:
        return set(_manifest(folder)["files"])
    except _DamageError:
        return set()


def _write_manifest(folder: Path, content: dict[str, Any]) -> None:
    text = json.dumps({"content": content, "sha256": _checksum(content)}, indent=1)
    write_whole(folder / _MANIFEST, lambda file: file.write(text.encode()))


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _fingerprint(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _range(name: str) -> tuple[int, int]:
    """Number of the first row in a file, and of the row after its last."""
    first, _, last = Path(name).stem.partition("-")
    return int(first), int(last)
