"""What a checkpoint says of itself is checked before it is used, also where its checksum fits."""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tuning.trial.checkpoint_files import (
    VERSION,
    DamageError,
    FormatError,
    TrialState,
    check_file,
    fingerprint,
    read_state,
    rows_of,
    write_state,
)

TRIAL = TrialState(steps=7, updates=2, score=-0.25, seconds=1.5, peak_rss_bytes=10**9)
ROWS = {"replay/0000000000-0000000012.npz": {"bytes": 3, "sha256": "x"}}


@pytest.fixture
def written(tmp_path: Path) -> Path:
    write_state(tmp_path, TRIAL, {"weights": np.arange(3.0)}, ROWS)
    return tmp_path


def sign(folder: Path, change: Callable[[dict[str, Any]], object], version: Any = VERSION) -> None:
    """Change what a checkpoint says, with a checksum that fits: what somebody does who means it."""
    path = folder / "state.json"
    content = json.loads(path.read_text())["content"]
    change(content)
    checksum = hashlib.sha256(f"{version} {json.dumps(content)}".encode()).hexdigest()
    path.write_text(json.dumps({"version": version, "sha256": checksum, "content": content}))


def test_what_is_written_is_read(written: Path) -> None:
    state = read_state(written)
    assert state.trial == TRIAL
    assert state.rows == ROWS
    assert state.files == {**ROWS, "arrays.npz": fingerprint(written / "arrays.npz")}
    assert {path.name for path in written.iterdir()} == {"arrays.npz", "state.json"}
    assert rows_of(next(iter(ROWS))) == (0, 12)


@pytest.mark.parametrize(("before", "after"), [(f'"version": {VERSION}', '"version": 1'), ("-0.25", "-0.5")])
def test_a_changed_word_is_damage(written: Path, before: str, after: str) -> None:
    sign(written, lambda content: None)
    assert read_state(written).trial == TRIAL
    path = written / "state.json"
    path.write_text(path.read_text().replace(before, after))
    with pytest.raises(DamageError, match=r"state\.json has changed since it was written"):
        read_state(written)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes in folders")
def test_a_pipe_is_damage_and_does_not_wait(written: Path) -> None:
    path = written / "state.json"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(DamageError, match=r"state\.json cannot be read"):
        read_state(written)


@pytest.mark.parametrize("version", [0, 2, str(VERSION), None, [VERSION]])
def test_another_version_is_refused_with_what_to_do(written: Path, version: Any) -> None:
    sign(written, lambda content: None, version)
    with pytest.raises(FormatError, match=f"this program reads version {VERSION}: use the version that wrote it"):
        read_state(written)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("steps", "many", 'steps is "many", not'),
        ("seconds", None, "seconds"),
        ("lunch", 1, "lunch"),
        ("steps", -1, "steps is -1"),
    ],
)
def test_what_it_says_of_its_trial_is_checked(written: Path, name: str, value: Any, said: str) -> None:
    sign(written, lambda content: content["trial"].update({name: value}))
    with pytest.raises(DamageError, match=said):
        read_state(written)


@pytest.mark.parametrize("name", ["../other", "/etc/passwd", "replay/../../x.npz", "replay/1.npz", "C:\\x", "state.pickle"])
def test_files_outside_of_the_trial_are_not_named(written: Path, name: str) -> None:
    sign(written, lambda content: content["files"].update({name: {"bytes": 1, "sha256": "x"}}))
    with pytest.raises(DamageError, match="names the files"):
        read_state(written)


@pytest.mark.parametrize("part", ["trial", "files", "trainer"])
@pytest.mark.parametrize("value", [None, 3, [1], "text", {"a": 1}])
def test_parts_of_another_type_are_damage(written: Path, part: str, value: Any) -> None:
    if part == "trainer":
        sign(written, lambda content: content.pop(part))
    else:
        sign(written, lambda content: content.update({part: value}))
    with pytest.raises(DamageError, match=r"state\.json"):
        read_state(written)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"\xff\xfe", b"[" * 100_000, b'{"version": 3}', None])
def test_what_is_no_state_is_damage(written: Path, content: bytes | None) -> None:
    if content is None:
        (written / "state.json").unlink()
        with pytest.raises(DamageError, match="is missing"):
            read_state(written)
        (written / "state.json").mkdir()
    else:
        (written / "state.json").write_bytes(content)
    with pytest.raises(DamageError, match="cannot be read"):
        read_state(written)


def test_files_are_compared_with_their_fingerprints(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    known = fingerprint(path)
    assert known["bytes"] == 3
    check_file(path, known)
    path.write_bytes(b"abd")
    with pytest.raises(DamageError, match="has changed"):
        check_file(path, known)
    path.unlink()
    with pytest.raises(DamageError, match="is missing"):
        check_file(path, known)
