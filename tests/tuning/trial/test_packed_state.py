"""States come back as they were, type by type and bit by bit; a file that holds anything else is refused and runs no code."""

import io
import json
import math
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tuning.trial.packed_state import StateError, pack, read_arrays, unpack, write_arrays

RECORD = np.dtype([("start", np.int64), ("peak", np.float64, (2,))], align=True)


def there_and_back(state: Any) -> Any:
    packed, arrays = pack(state)
    return unpack(json.loads(json.dumps(packed, allow_nan=False)), arrays)


@pytest.mark.parametrize(
    "value",
    [
        None, True, 0, -7, 2**127 + 1, 0.1, 5e-324, -0.0, "", "text", "ünï", [], [1, [2.5, None]], (), (1, (2, "x")), {},
        {"a": {"b": []}}, {1: "whole", 2.5: "number", None: "none", True and "t": 1}, {"dict": 1}, {"array": [1]}, ["tuple"],
        math.inf, -math.inf, np.float64(0.1), np.float32(0.1), np.int64(-3), np.bool_(True), np.uint8(255), np.float32("nan"),
    ],
)  # fmt: skip
def test_a_value_keeps_its_type_and_its_bits(value: Any) -> None:
    back = there_and_back(value)
    assert type(back) is type(value)
    assert repr(back) == repr(value)


def test_dictionaries_keep_their_order_and_arrays_their_types() -> None:
    record = np.zeros(3, np.dtype([("a", np.int64), ("b", np.float32, (2,))]))
    state = OrderedDict(z=np.arange(4, dtype=np.uint32), a=np.float64(1), m=[np.eye(2, 3), record, np.array(7)], nan=math.nan)
    back = there_and_back(state)
    assert list(back) == ["z", "a", "m", "nan"]
    assert math.isnan(back["nan"])
    for given, found in zip((state["z"], *state["m"]), (back["z"], *back["m"]), strict=True):
        assert found.dtype == given.dtype
        np.testing.assert_array_equal(found, given)
        assert found.flags.writeable


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", {(1, 2): 3}, np.array([None]), 1j, np.complex128(1), print])
def test_what_is_no_plain_value_is_not_saved(value: Any) -> None:
    with pytest.raises(TypeError, match="is not saved"):
        pack({"a": [value]})


@pytest.mark.parametrize("packed", [{"call": ["os.system", "x"]}, {"scalar": ["object", 1]}, {"array": "b"}, {}, {"tuple": 3}])
def test_what_pack_never_gives_is_no_state(packed: Any) -> None:
    with pytest.raises((KeyError, ValueError, TypeError)):
        unpack(packed, {"a": np.zeros(4)})


def zipped(path: Path, content: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", content)
    return path


def npy(array: Any, **header: Any) -> bytes:
    """An array's file, with other values in its header."""
    file = io.BytesIO()
    described = {**np.lib.format.header_data_from_array_1_0(np.asarray(array)), **header}
    np.lib.format.write_array_header_1_0(file, described)
    return file.getvalue() + np.asarray(array).tobytes()


def test_arrays_that_are_written_are_read(tmp_path: Path) -> None:
    given = {
        "a": np.arange(6.0).reshape(2, 3),
        "none": np.zeros((0, 4), np.uint8),
        "fortran": np.asfortranarray(np.eye(3)[:2]),
        "records": np.zeros(2, RECORD),
    }
    write_arrays(tmp_path / "x.npz", given)
    read = read_arrays(tmp_path / "x.npz")
    assert read.keys() == given.keys()
    for name, array in given.items():
        np.testing.assert_array_equal(read[name], array)
        assert read[name].dtype == array.dtype
        assert read[name].flags.writeable


def test_python_objects_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="Python objects"):
        write_arrays(tmp_path / "x.npz", {"a": np.array([None])})
    assert not list(tmp_path.iterdir())


class Code:
    """Runs where it is unpickled."""

    def __reduce__(self) -> Any:
        return pytest.fail, ("a file ran code",)


@pytest.mark.parametrize(
    "content",
    [
        npy([1.0, 2.0], shape=(10**13,)), npy([1.0, 2.0], shape=(3,)), npy([1, 2], descr="|O"), b"nothing", b"",
        npy([1], descr="|O")[: len(npy([1])) - 8] + pickle.dumps(Code()), pickle.dumps(Code()),
    ],
)  # fmt: skip
def test_a_file_that_is_no_arrays_runs_no_code_and_is_named(tmp_path: Path, content: bytes) -> None:
    for path in (zipped(tmp_path / "x.npz", content), tmp_path / "y.npz"):
        if not path.exists():
            path.write_bytes(content)
        with pytest.raises(StateError) as error:
            read_arrays(path)
        assert str(path) in str(error.value)
