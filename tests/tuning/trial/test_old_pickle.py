"""Old pickles become the values that they hold; NumPy's own functions are out of their reach."""

from __future__ import annotations

import collections
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tuning.trial.old_pickle import OldCheckpointError, read_pickled

RECORD = np.dtype([("start", np.int64), ("peak", np.float64, (2,)), ("flag", np.uint8)], align=True)


def read(tmp_path: Path, content: bytes) -> dict[str, Any]:
    path = tmp_path / "state.pickle"
    path.write_bytes(content)
    return read_pickled(path)


@pytest.mark.parametrize("protocol", [3, 4, 5])
@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3), np.asfortranarray(np.eye(3)[:2]), np.array([True, False]), np.array(3),
        np.zeros((0, 4), np.uint32), np.zeros(3, RECORD), np.arange(8, dtype=">i4")[::2],
    ],
)  # fmt: skip
def test_arrays_come_back_with_type_shape_and_numbers(tmp_path: Path, array: np.ndarray, protocol: int) -> None:
    found = read(tmp_path, pickle.dumps({"a": [(array,)]}, protocol=protocol))["a"][0][0]
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("value", [np.float64(0.1), np.int64(-3), np.bool_(True), np.float32("nan")])
def test_scalars_come_back(tmp_path: Path, value: Any) -> None:
    found = read(tmp_path, pickle.dumps({"a": value}, protocol=5))["a"]
    assert type(found) is type(value)
    assert repr(found) == repr(value)


def test_ordered_dictionaries_keep_their_order(tmp_path: Path) -> None:
    found = read(tmp_path, pickle.dumps({"o": collections.OrderedDict(z=1, a=2)}, protocol=5))
    assert list(found["o"]) == ["z", "a"]


def opcodes(value: Any) -> bytes:
    """Opcodes that push a value."""
    return pickle.dumps(value, 3)[2:-1]


def forged(flags: int, rest: bytes) -> bytes:
    """A pickle with the type of objects, with flags that say that it is none."""
    kind = opcodes(("O", False, True)) + b"R" + opcodes((3, "|", None, None, None, -1, -1, flags)) + b"b"
    return b"\x80\x03" + rest.replace(b"KIND", b"cnumpy\ndtype\n" + kind)


@pytest.mark.parametrize("flags", [0, 32, 63])
@pytest.mark.parametrize(
    "rest",
    [
        b"cnumpy._core.multiarray\nscalar\n(KIND" + opcodes(b"AAAAAAAA") + b"tR.",
        b"cnumpy._core.numeric\n_frombuffer\n(" + opcodes(b"AAAAAAAA") + b"KIND" + opcodes((1,)) + opcodes("C") + b"tR.",
        b"KIND.",
        b"cnumpy\ndtype\n" + opcodes((3,)) + b"b.",
        b"ccollections\nOrderedDict\n" + opcodes((None, {"get": 1})) + b"b.",
    ],
)
def test_a_type_with_false_flags_reads_no_memory(tmp_path: Path, rest: bytes, flags: int) -> None:
    with pytest.raises(OldCheckpointError, match="holds no state of a trainer"):
        read(tmp_path, forged(flags, rest))


def test_a_cycle_and_a_file_that_grows_are_refused(tmp_path: Path) -> None:
    cycle: dict[str, Any] = {}
    cycle["a"] = cycle
    grown: list[Any] = []
    for _ in range(60):
        grown = [grown, grown]
    for value in (cycle, {"a": grown}):
        with pytest.raises(OldCheckpointError, match="too many values, or they are nested too deeply"):
            read(tmp_path, pickle.dumps(value, protocol=5))


def test_an_array_without_its_bytes_is_refused(tmp_path: Path) -> None:
    content = pickle.dumps({"a": np.arange(4.0)}, protocol=5)
    with pytest.raises(OldCheckpointError, match="holds no state of a trainer"):
        read(tmp_path, content.replace(b"K\x04\x85", b"K\x05\x85"))
