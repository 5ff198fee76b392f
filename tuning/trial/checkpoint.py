"""A trial's checkpoints: written whole, the newest two kept, damage found and gone around.

    trials/00003/
      000000125000/            a checkpoint, named by the steps
        state.pickle           the trainer: networks, optimizers, statistics, random numbers, where the environment is
        manifest.json          how far the trial is; size and SHA-256 of every file that the checkpoint consists of
      replay/
        0000000000-0000001953.npz   rows of the replay buffer, shared by checkpoints

A replay buffer's rows never change, so each checkpoint writes only those that are new since the one before.
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
    """How far a trial is: what its checkpoint holds beside the trainer.

    Attributes:
        steps: environment steps.
        updates: rounds of collecting and learning.
        evaluated_steps: steps at the last evaluation; 0 before the first.
        score: of the last evaluation.
        seconds: wall time, and of it in environment, learner and evaluations.
        peak_rss_bytes: most host memory seen.
        peak_vram_bytes: most GPU memory that torch allocated.
        peak_process_vram_bytes: most GPU memory of the process.
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
    """A checkpoint whose files were checked.

    Attributes:
        folder: of the checkpoint.
        trial: how far the trial was.
        rows: files with rows of the replay buffer, in their order, by the first row.
    """

    folder: Path
    trial: TrialState
    rows: tuple[tuple[int, Path], ...]

    def restore(self, trainer: Trainer) -> None:
        """Let a trainer go on from here."""
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
        """The newest checkpoint that is whole.

        Returns:
            None where there is none, and for each newer one that is damaged a line that says what is wrong with it.
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
        """Steps of the newest one, whole or damaged; 0 where there is none."""
        return max((int(folder.name) for folder in self._complete()), default=0)

    @property
    def nbytes(self) -> int:
        """What they take on the disk, bytes."""
        return sum(path.stat().st_size for path in self._folder.rglob("*") if path.is_file())

    def save(self, trainer: Trainer, trial: TrialState) -> None:
        """Write a checkpoint and drop those before the newest two.

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
        # One that is there already was found damaged, or comes from a run that a kill cut off.
        shutil.rmtree(target, ignore_errors=True)
        new.rename(target)
        sync_folder(self._folder)
        self._drop_old()

    def remove(self) -> None:
        """Remove all of them."""
        if self._folder.is_dir():
            shutil.rmtree(self._folder)

    def _save_rows(self, trainer: Trainer) -> dict[str, dict[str, Any]]:
        """Write what no checkpoint holds of the replay buffer; the fingerprints of all files that make it up."""
        buffer = trainer.replay
        if buffer is None:
            return {}
        newest = self._complete()[-1:]
        files = {name: value for folder in newest for name, value in _manifest(folder)["files"].items() if name != _STATE}
        # What is overwritten by now is not needed any more.
        files = {name: value for name, value in files.items() if _range(name)[1] > buffer.oldest_row}
        # A reset changes the row before it, which is therefore written again.
        saved = max((_range(name)[1] for name in files), default=0)
        first = max(saved - 1, buffer.oldest_row)
        while saved < buffer.rows:
            # Copies of them are in memory until they are written.
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
        """Remove checkpoints with more steps: damaged ones, once it is settled that a trial goes on from before them."""
        for folder in self._complete():
            if int(folder.name) > steps:
                shutil.rmtree(folder)

    def _drop_old(self) -> None:
        """Remove all but the newest, and files with rows that none of these needs."""
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
    """A checkpoint does not hold what was written; says which file."""


def _checked(folder: Path) -> Checkpoint:
    """A checkpoint, after a look at every byte of it."""
    manifest = _manifest(folder)
    rows = []
    for name, fingerprint in manifest["files"].items():
        path = (folder if name == _STATE else folder.parent) / name
        if not path.is_file():
            raise _DamageError(f"{path} is missing")
        if _fingerprint(path) != fingerprint:
            raise _DamageError(f"{path} is not as it was written")
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
        raise _DamageError(f"{path} is not as it was written")
    found: dict[str, Any] = content
    return found


def _files(folder: Path) -> set[str]:
    """Names of the files that a checkpoint consists of; none if it is damaged."""
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
    """First row of a file of rows, and the one after its last."""
    first, _, last = Path(name).stem.partition("-")
    return int(first), int(last)
