"""Checkpoints of version 1, which hold pickled objects: turns them into data.

Unpickling calls what the file names. Here only what a trainer's state consists of may be named: NumPy's arrays and scalars and
ordered dictionaries. Anything else is refused before it is called.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import sync_folder
from tuning.algorithms.random_state import python_state
from tuning.trial.checkpoint import MISFITS
from tuning.trial.checkpoint_files import (
    OLD_MANIFEST,
    OLD_STATE,
    DamageError,
    TrialState,
    check_file,
    has_state,
    write_state,
)

_ALLOWED = {
    ("collections", "OrderedDict"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    *(
        (f"numpy.{core}.{module}", name)
        for core in ("core", "_core")  # of NumPy 1 and 2
        for module, name in (("multiarray", "_reconstruct"), ("multiarray", "scalar"), ("numeric", "_frombuffer"))
    ),
}


_DAMAGED = ".damaged"  # suffix of a file that is not looked at any more


class OldCheckpointError(UserError):
    """A checkpoint of version 1 is refused; says which, why and what to do."""


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
            files = dict(manifest["files"])
            check_file(folder / OLD_STATE, files.pop(OLD_STATE))
        except DamageError as error:
            # Without its name it is a damaged checkpoint, which a trial goes around.
            (folder / OLD_STATE).replace(folder / f"{OLD_STATE}{_DAMAGED}")
            return f"is damaged and stays unused: {error}"
        state = _unpickled(folder / OLD_STATE)
        try:
            write_state(folder, TrialState(**manifest["trial"]), _as_now(state), files)
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


class _StateUnpickler(pickle.Unpickler):
    """Finds what a trainer's state consists of, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        """See `pickle.Unpickler`."""
        if (module, name) not in _ALLOWED:
            raise OldCheckpointError(f"names {module}.{name}")
        return super().find_class(module, name)


def _unpickled(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        try:
            state = _StateUnpickler(file).load()
        except OldCheckpointError as error:
            raise OldCheckpointError(
                f"{path} {error}, which is no part of a trainer's state: it was refused and not called; do not trust the "
                "folder that it comes from"
            ) from None
        except (pickle.UnpicklingError, EOFError, *MISFITS) as error:
            raise OldCheckpointError(f"{path} holds no state of a trainer: {error}; remove {path.parent}") from error
    if not isinstance(state, dict):
        raise OldCheckpointError(f"{path} holds no state of a trainer, but a {type(state).__name__}; remove {path.parent}")
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
    return found
