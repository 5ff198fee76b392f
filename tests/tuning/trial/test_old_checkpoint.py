"""Pickled checkpoints become data with the same numbers; what they name beside arrays is never called."""

from __future__ import annotations

import collections
import hashlib
import json
import os
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tuning.algorithms.rllib_trainer import python_state
from tuning.trial.checkpoint import Checkpoints
from tuning.trial.checkpoint_files import TrialState, fingerprint
from tuning.trial.old_checkpoint import OldCheckpointError, upgrade_checkpoints

STATE = {
    "weights": collections.OrderedDict(a=np.eye(3, dtype=np.float32), b=np.asfortranarray(np.arange(6.0).reshape(2, 3))),
    "count": np.float64(3.5),
    "random": {"python": random.Random(1).getstate()},
}


def old(experiment: Path, content: bytes, steps: int = 5) -> Path:
    """A checkpoint as version 1 wrote it."""
    folder = experiment / "trials" / "00000" / f"{steps:012d}"
    folder.mkdir(parents=True)
    (folder / "state.pickle").write_bytes(content)
    manifest = {"trial": {"steps": steps, "score": 0.5}, "files": {"state.pickle": fingerprint(folder / "state.pickle")}}
    checksum = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps({"content": manifest, "sha256": checksum}))
    return folder


class Kept:
    """Stands for a trainer: keeps the state that it is given."""

    state: Any = None

    def get_state(self) -> dict[str, Any]:
        return {}

    def set_state(self, state: Any, rows: Any) -> None:
        self.state = state


def converted(experiment: Path) -> list[str]:
    said: list[str] = []
    upgrade_checkpoints([experiment], said.append)
    return said


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_the_numbers_stay_as_they_are(tmp_path: Path, protocol: int) -> None:
    folder = old(tmp_path, pickle.dumps(STATE, protocol=protocol))
    assert converted(tmp_path) == [f"{folder} holds data alone now"]
    assert {path.name for path in folder.iterdir()} == {"arrays.npz", "state.json"}
    newest, damage = Checkpoints(folder.parent).newest()
    assert newest
    assert damage == []
    assert newest.trial == TrialState(steps=5, score=0.5)
    kept: Any = Kept()
    newest.restore(kept)
    for name, array in STATE["weights"].items():  # type: ignore[attr-defined]
        np.testing.assert_array_equal(kept.state["weights"][name], array)
        assert kept.state["weights"][name].dtype == array.dtype
    assert type(kept.state["count"]) is np.float64
    np.testing.assert_array_equal(kept.state["random"]["python"]["words"], python_state(random.Random(1).getstate())["words"])


def test_a_folder_without_old_checkpoints_is_told(tmp_path: Path) -> None:
    assert converted(tmp_path) == [f"{tmp_path} has no checkpoint of version 0.1"]
    with pytest.raises(OldCheckpointError, match=r"no folder .*: give that of an experiment"):
        converted(tmp_path / "none")


class Calls:
    """Calls a function when it is unpickled."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> Any:
        return self.function, self.arguments


@pytest.mark.parametrize("protocol", [0, 2, 5])
@pytest.mark.parametrize("call", [Calls(os.system, "touch {}"), Calls(eval, "open('{}', 'w')"), Calls(getattr, os, "system")])
def test_what_a_file_names_is_not_called(tmp_path: Path, call: Calls, protocol: int) -> None:
    touched = tmp_path / "touched"
    call = Calls(call.function, *(a.format(touched) if isinstance(a, str) else a.__name__ for a in call.arguments))
    folder = old(tmp_path, pickle.dumps({**STATE, "extra": call}, protocol=protocol))
    with pytest.raises(OldCheckpointError, match=r"which is no part of a trainer's state: it was refused and not called"):
        converted(tmp_path)
    assert not touched.exists()
    assert {path.name for path in folder.iterdir()} == {"state.pickle", "manifest.json"}


@pytest.mark.parametrize("content", [b"", b"nothing", pickle.dumps(STATE)[:-40], pickle.dumps([1]), pickle.dumps({"a": {1}})])
def test_a_file_that_holds_no_state_is_refused(tmp_path: Path, content: bytes) -> None:
    old(tmp_path, content)
    with pytest.raises(OldCheckpointError, match="holds no state of a trainer"):
        converted(tmp_path)


@pytest.mark.parametrize("name", ["state.pickle", "manifest.json"])
def test_a_damaged_one_is_set_aside_and_the_one_before_is_used(tmp_path: Path, name: str) -> None:
    before, damaged = (old(tmp_path, pickle.dumps(STATE), steps) for steps in (5, 9))
    (damaged / name).write_bytes((damaged / name).read_bytes()[:-9])
    first, second = converted(tmp_path)
    assert first == f"{before} holds data alone now"
    assert f"is damaged and stays unused: {damaged / name}" in second
    newest, damage = Checkpoints(before.parent).newest()
    assert newest
    assert newest.trial.steps == 5
    assert len(damage) == 1
    assert converted(tmp_path) == [f"{tmp_path} has no checkpoint of version 0.1"]


def test_a_conversion_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = old(tmp_path, pickle.dumps(STATE))
    with monkeypatch.context() as stopped:
        stopped.setattr(Path, "unlink", lambda *arguments, **keywords: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            converted(tmp_path)
    assert converted(tmp_path) == [f"{folder} holds data alone now"]
    assert {path.name for path in folder.iterdir()} == {"arrays.npz", "state.json"}
