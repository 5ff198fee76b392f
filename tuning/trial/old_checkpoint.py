"""Checkpoints of version 1, which hold pickled objects: turns them into data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from common.files import sync_folder
from common.links import refuse_links
from tuning.algorithms.rllib_trainer import python_state
from tuning.trial.checkpoint_files import (
    OLD_MANIFEST,
    OLD_STATE,
    DamageError,
    TrialState,
    check_file,
    has_state,
    write_state,
)
from tuning.trial.old_pickle import OldCheckpointError, read_pickled

_DAMAGED = ".damaged"  # suffix of a file that is not looked at any more


def upgrade_checkpoints(folders: Sequence[Path], say: Callable[[str], None]) -> None:
    """Turn all checkpoints of version 1 below some folders into data, each in its place.

    Where it is stopped halfway, it goes on when it is called again.

    Args:
        folders: of experiments or judgements.
        say: gets a line about each checkpoint, and one if a folder has none.

    Raises:
        OldCheckpointError: if a folder is none of an experiment or a judgement, or a checkpoint names anything but a trainer's
            state. Those before it are converted.
    """
    for folder in folders:
        if not folder.is_dir():
            raise OldCheckpointError(f"no folder {folder}: give that of an experiment or of a judgement")
        refuse_links(folder)
    for folder in folders:
        old = sorted(path.parent for path in folder.rglob(f"trials/*/*/{OLD_STATE}"))
        if not old:
            say(f"{folder} has no checkpoint of version 0.1")
        for checkpoint in old:
            say(f"{checkpoint} {_convert(checkpoint)}")


def _convert(folder: Path) -> str:
    """Turn one checkpoint into data, and say what became of it."""
    done = "holds data alone now"
    if not has_state(folder):
        try:
            manifest = _manifest(folder)
            check_file(folder / OLD_STATE, manifest["files"][OLD_STATE])
        except DamageError as error:
            # Without its name it is a damaged checkpoint, which a trial goes around.
            (folder / OLD_STATE).replace(folder / f"{OLD_STATE}{_DAMAGED}")
            return f"is damaged and stays unused: {error}"
        state = read_pickled(folder / OLD_STATE)
        try:
            rows = {name: value for name, value in manifest["files"].items() if name != OLD_STATE}
            write_state(folder, TrialState(**manifest["trial"]), _as_now(state), rows)
        except (TypeError, ValueError) as error:
            raise OldCheckpointError(f"{folder / OLD_STATE} holds no state of a trainer: {error}; remove {folder}") from error
        sync_folder(folder)
    for name in (OLD_STATE, OLD_MANIFEST):
        (folder / name).unlink(missing_ok=True)
    sync_folder(folder)
    return done


def _as_now(state: dict[str, Any]) -> dict[str, Any]:
    """A state as trainers of this version give it: the words of Python's random numbers are an array."""
    random = state.get("random")
    if isinstance(random, dict) and isinstance(random.get("python"), tuple):
        return {**state, "random": {**random, "python": python_state(random["python"])}}
    return state


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / OLD_MANIFEST
    try:
        outer = json.loads(path.read_text(encoding="utf-8"))
        content, checksum = outer["content"], outer["sha256"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise DamageError(f"{path} cannot be read") from None
    if checksum != hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest():
        raise DamageError(f"{path} has changed since it was written")
    found: dict[str, Any] = content
    if not all(isinstance(found.get(name), dict) for name in ("trial", "files")) or OLD_STATE not in found["files"]:
        raise DamageError(f"{path} describes no checkpoint")
    return found
