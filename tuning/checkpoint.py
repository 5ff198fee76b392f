"""A trial's checkpoint: written whole, then the one before is dropped."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ray.rllib.algorithms.algorithm import Algorithm

_STATE = "trial.json"
_ALGORITHM = "algorithm"


@dataclass
class TrialState:
    """How far a trial is: what its checkpoint holds beside the algorithm.

    Attributes:
        steps: environment steps.
        updates: rounds of collecting and learning.
        evaluations: evaluations on the validation split.
        score: of the last one.
        seconds: wall time, and of it in environment, learner and evaluations.
        peak_rss_bytes: most host memory seen.
        peak_vram_bytes: most GPU memory seen.
    """

    steps: int = 0
    updates: int = 0
    evaluations: int = 0
    score: float | None = None
    seconds: float = 0.0
    environment_seconds: float = 0.0
    learner_seconds: float = 0.0
    evaluation_seconds: float = 0.0
    peak_rss_bytes: int = 0
    peak_vram_bytes: int = 0


def save(folder: Path, algorithm: Algorithm, state: TrialState) -> None:
    """Write a checkpoint under another name, rename it, then drop the one before.

    Args:
        folder: of the trial's checkpoints.
        algorithm: to be saved.
        state: of the trial.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{state.steps:012d}"
    new = folder / "new"
    shutil.rmtree(new, ignore_errors=True)
    algorithm.save_to_path(str(new / _ALGORITHM))
    (new / _STATE).write_text(json.dumps(asdict(state)), encoding="utf-8")
    shutil.rmtree(target, ignore_errors=True)
    new.rename(target)
    for old in _checkpoints(folder)[:-1]:
        shutil.rmtree(old)


def read_state(folder: Path) -> TrialState:
    """State of the newest checkpoint; a fresh one where there is none."""
    checkpoints = _checkpoints(folder)
    if not checkpoints:
        return TrialState()
    return TrialState(**json.loads((checkpoints[-1] / _STATE).read_text(encoding="utf-8")))


def restore(folder: Path, algorithm: Algorithm) -> None:
    """Restore the newest checkpoint into an algorithm, if there is one."""
    for newest in _checkpoints(folder)[-1:]:
        algorithm.restore_from_path(str(newest / _ALGORITHM))


def _checkpoints(folder: Path) -> list[Path]:
    """Complete checkpoints, oldest first."""
    return sorted(path for path in folder.glob("[0-9]*") if path.is_dir())
