"""The files of a checkpoint but the rows of the replay buffer: how they are written, read and checked.

A checkpoint's folder holds

    arrays.npz    the trainer's arrays: networks, optimizers, statistics, unfinished episodes
    state.json    how far the trial is, the trainer's plain values, size and SHA-256 of each other file

All hold data alone: to read those of another person runs no code of theirs.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_text, write_whole
from common.json_values import checked, described
from tuning.storage.search_files import STATE
from tuning.storage.trial_files import REPLAY
from tuning.trial.packed_state import pack, write_arrays

VERSION = 5  # of the format
ARRAYS = "arrays.npz"

# Fields of `envs.objective.aim.Outcome` beside the score, in their order; left out where they are empty.
OF_AN_AIM = ("objective", "shortfall", "objective_2", "gain", "gain_2")
_ROWS = re.compile(rf"{REPLAY}/([0-9]{{10,}})-([0-9]{{10,}})\.npz")


@dataclass
class TrialState:
    """How far a trial is: the part of its checkpoint beside the trainer."""

    steps: int = 0  # environment steps
    updates: int = 0  # rounds of collecting and learning
    evaluated_steps: int = 0  # steps at the last evaluation; 0 before the first
    kept_steps: int = 0  # steps at the evaluation that the trial is rated by, see `Settings.keep`; 0 before the first
    plan_score: float | None = None  # score of its plan alone; None without a plan, and before the first evaluation
    score: float | None = None  # of the evaluation that it is rated by; None where it is not finite, as for those below
    seconds: float = 0.0  # wall time
    environment_seconds: float = 0.0  # part of it in environments
    learner_seconds: float = 0.0  # part of it in gradient steps
    evaluation_seconds: float = 0.0  # part of it in evaluations
    peak_rss_bytes: int = 0  # largest measured host memory of the process
    peak_vram_bytes: int = 0  # largest GPU memory that torch allocated
    peak_process_vram_bytes: int = 0  # largest GPU memory of the process
    objective: float | None = None  # of that evaluation, see `envs.objective.aim.Outcome`
    shortfall: float | None = None  # likewise, as are the next three
    objective_2: float | None = None  # of the second of two objectives
    gain: float | None = None  # of the first
    gain_2: float | None = None  # of the second


class FormatError(UserError):
    """A checkpoint is of another version, or does not belong to its trial; says what to do."""


@dataclass(frozen=True)
class State:
    """What `state.json` says."""

    trial: TrialState  # how far it is
    files: dict[str, dict[str, Any]]  # fingerprint of each other file of the checkpoint by name
    trainer: Any  # state of the trainer, packed

    @property
    def rows(self) -> dict[str, dict[str, Any]]:
        """Fingerprints of the files of the replay buffer's rows, by name."""
        return {name: value for name, value in self.files.items() if name != ARRAYS}


class DamageError(Exception):
    """A file of a checkpoint is missing or has changed; names it."""


def write_state(folder: Path, trial: TrialState, trainer: Mapping[str, Any], rows: Mapping[str, dict[str, Any]]) -> None:
    """Write the files of a checkpoint; of those of the replay buffer's rows it names the fingerprints."""
    packed, arrays = pack(dict(trainer))
    write_arrays(folder / ARRAYS, arrays)
    files = {**rows, ARRAYS: fingerprint(folder / ARRAYS)}
    how_far = {name: value for name, value in asdict(trial).items() if value is not None or name not in OF_AN_AIM}
    content = json.dumps({"trial": how_far, "files": files, "trainer": packed}, allow_nan=False)
    text = f'{{"version": {VERSION}, "sha256": "{_checksum(VERSION, content)}", "content": {content}}}'
    write_whole(folder / STATE, text.encode())


def check_file(path: Path, expected: dict[str, Any]) -> None:
    """Compare a file with its fingerprint; DamageError if it is missing, or another."""
    if not path.is_file():
        raise DamageError(f"{path} is missing")
    if fingerprint(path) != expected:
        raise DamageError(f"{path} has changed since it was written")


def read_state(folder: Path) -> State:
    """What `state.json` of a checkpoint says, after comparing it with its checksum.

    Raises:
        FormatError: if another version wrote it.
        DamageError: if it is missing, has changed, or says something impossible.
    """
    path = folder / STATE
    try:
        outer = json.loads(read_text(path))
        version, content, checksum = outer["version"], outer["content"], outer["sha256"]
        # A number has one text, and dictionaries keep their order: written again, the content is what it was.
        expected = _checksum(version, json.dumps(content))
    except FileNotFoundError:
        raise DamageError(f"{path} is missing") from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise DamageError(f"{path} cannot be read") from None
    if checksum != expected:
        raise DamageError(f"{path} has changed since it was written")
    if version != VERSION:
        raise FormatError(
            f"{path} has version {version!r:.20}, and this program reads version {VERSION}: use the version that wrote it"
        )
    try:
        files = checked(content["files"], dict[str, dict[str, Any]], "files")
        # No other file of the machine is read.
        if ARRAYS not in files or not all(name == ARRAYS or _ROWS.fullmatch(name) for name in files):
            raise ValueError(f"it names the files {sorted(files)!s:.100}")
        trial = described(TrialState, content["trial"], "trial")
        for name, value in asdict(trial).items():
            if value is not None and not (math.isfinite(value) and (value >= 0 or name in ("score", "plan_score", *OF_AN_AIM))):
                raise ValueError(f"{name} is {value}")
        return State(trial, files, content["trainer"])
    except (KeyError, TypeError, ValueError) as error:
        raise DamageError(f"{path} holds no checkpoint: {error}") from None


def _checksum(version: object, content: str) -> str:
    return hashlib.sha256(f"{version} {content}".encode()).hexdigest()


def fingerprint(path: Path) -> dict[str, Any]:
    """Size of a file in bytes, and its SHA-256."""
    with path.open("rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def rows_of(name: str) -> tuple[int, int]:
    """Number of the first row in a file of rows, and of the row after its last."""
    first, _, last = Path(name).stem.partition("-")
    return int(first), int(last)
