"""Arrays come back as they were; a file that claims more than it holds, or holds objects, is refused unread."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tuning.trial.array_files import Arrays, StateError, read_arrays, write_arrays

RECORD = np.dtype([("start", np.int64), ("peak", np.float64, (2,))], align=True)


def zipped(path: Path, content: bytes, compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("a.npy", content)
    return path


def npy(array: Any, **header: Any) -> bytes:
    """An array's file, with other values in its header."""
    file = io.BytesIO()
    described = {**np.lib.format.header_data_from_array_1_0(np.asarray(array)), **header}
    np.lib.format.write_array_header_1_0(file, described)
    return file.getvalue() + np.asarray(array).tobytes()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    given = {"a": np.arange(6.0).reshape(2, 3), "none": np.zeros((0, 4), np.uint8), "fortran": np.asfortranarray(np.eye(3)[:2])}
    write_arrays(tmp_path / "x.npz", given)
    read = read_arrays(tmp_path / "x.npz")
    assert read.keys() == given.keys()
    for name, array in given.items():
        np.testing.assert_array_equal(read[name], array)
        assert read[name].dtype == array.dtype
        assert read[name].flags.writeable


def test_numpy_itself_reads_the_file(tmp_path: Path) -> None:
    arrays = Arrays()
    places = [arrays.add(array) for array in (np.eye(2), np.arange(3.0), np.arange(3, dtype=np.int8), np.zeros(2, RECORD))]
    arrays.write(tmp_path / "x.npz")
    assert places == [["float64", 0, [2, 2]], ["float64", 4, [3]], ["int8", 0, [3]], ["records2", 0, [2]]]
    with np.load(tmp_path / "x.npz", allow_pickle=False) as file:
        assert file["float64"].tolist() == [1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 2.0]
        assert file["records2"].dtype == RECORD


def test_many_megabytes_are_written_in_pieces(tmp_path: Path) -> None:
    arrays = Arrays()
    given = [np.full(300_000, float(i)) for i in range(5)]
    for array in given:
        arrays.add(array)
    arrays.write(tmp_path / "x.npz")
    np.testing.assert_array_equal(read_arrays(tmp_path / "x.npz")["float64"], np.concatenate(given))


def test_python_objects_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="Python objects"):
        write_arrays(tmp_path / "x.npz", {"a": np.array([None])})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (npy([1.0, 2.0], shape=(10**12,)), "16 bytes, which are no float64 of shape"),
        (npy([1.0, 2.0], shape=(1,)), "16 bytes, which are no float64 of shape"),
        (npy([1, 2], descr="|O"), "Python objects"),
        (b"\x93NUMPY\x03\x00" + bytes(20), "unknown format"),
        (b"nothing", "magic string"),
        (b"", "magic"),
    ],
)
def test_files_that_are_no_arrays(tmp_path: Path, content: bytes, said: str) -> None:
    path = zipped(tmp_path / "x.npz", content)
    with pytest.raises(StateError, match=said) as error:
        read_arrays(path)
    assert str(path) in str(error.value)


def test_compressed_arrays_are_refused_as_they_may_grow(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="is compressed"):
        read_arrays(zipped(tmp_path / "x.npz", npy(np.zeros(10**6)), zipfile.ZIP_DEFLATED))


def test_entries_that_overlap_are_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.npz", npy(np.zeros(1000)))
    content = path.read_bytes()
    # A second entry of the directory for the same bytes.
    directory = content.index(b"PK\x01\x02")
    end = content.index(b"PK\x05\x06")
    entry = content[directory:end]
    tail = bytearray(content[end:])
    tail[8:12] = (2).to_bytes(2, "little") * 2
    tail[12:16] = (2 * len(entry)).to_bytes(4, "little")
    path.write_bytes(content[:directory] + entry + entry.replace(b"a.npy", b"b.npy") + tail)
    with zipfile.ZipFile(path) as archive:
        assert len(archive.infolist()) == 2
    with pytest.raises(StateError, match="overlap"):
        read_arrays(path)


def test_a_file_that_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(b"PK nothing")
    with pytest.raises(StateError, match="holds no arrays"):
        read_arrays(tmp_path / "x.npz")
