"""A crash leaves the old file or the new one."""

import contextlib
import os
from pathlib import Path

import pytest

from common import files
from common.files import read_text, sync_folder, write_whole


def test_a_file_is_replaced_whole_or_stays_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    for content in (b"first", b"second"):
        write_whole(path, lambda file, content=content: file.write(content))
    with pytest.raises(TypeError):
        write_whole(path, lambda file: file.write(b"third") + file.write(None))  # type: ignore[arg-type]
    assert path.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [path]  # a full disk needs the room


def test_a_text_is_read_without_its_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for encoding in ("utf-8", "utf-8-sig"):
        path.write_text('{"a": "é"}', encoding=encoding)
        assert read_text(path) == '{"a": "é"}'
    path.write_text("é", encoding="latin-1")
    with pytest.raises(ValueError, match="utf-8"):
        read_text(path)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files in folders")
def test_a_pipe_and_a_device_are_refused_without_waiting(tmp_path: Path) -> None:
    pipe, device = tmp_path / "pipe.json", tmp_path / "device.json"
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    for path in (pipe, device):
        with pytest.raises(OSError, match="not a regular file"):
            read_text(path)
    with pytest.raises(IsADirectoryError):
        read_text(tmp_path)


def test_a_text_of_the_largest_size_is_read_and_no_larger_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_TEXT", 2**20)
    path = tmp_path / "a.json"
    path.write_bytes(b"a" * 2**20)
    assert len(read_text(path)) == 2**20
    path.write_bytes(b"a" * (2**20 + 1))
    with pytest.raises(OSError, match="more than 1 MiB"):
        read_text(path)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs a file that says that it has no bytes")
def test_a_file_with_more_than_its_size_says_is_read_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Path("/proc/self/status").stat().st_size == 0
    monkeypatch.setattr(files, "MOST_TEXT", 10)
    with pytest.raises(OSError, match="more than"):
        read_text(Path("/proc/self/status"))


def test_it_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, seen = tmp_path / "a.bin", []
    monkeypatch.setattr("common.files.os.fsync", lambda descriptor: seen.append(path.exists()))
    write_whole(path, lambda file: file.write(b"content"))
    assert seen == [False]
    assert path.exists()


def test_a_folder_can_be_synchronised(tmp_path: Path) -> None:
    sync_folder(tmp_path)
    with pytest.raises(FileNotFoundError):
        sync_folder(tmp_path / "none")


@pytest.mark.parametrize(("is_windows", "times"), [(True, 3), (True, 10**6), (False, 1)])
def test_a_file_that_is_read_elsewhere_is_replaced_a_moment_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_windows: bool, times: int
) -> None:
    """Windows refuses it meanwhile."""
    path, replace, refusals = tmp_path / "a.bin", Path.replace, iter([PermissionError("open elsewhere")] * times)

    def refused(self: Path, target: Path) -> Path:
        if error := next(refusals, None):
            raise error
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", refused)
    monkeypatch.setattr(files, "IS_WINDOWS", is_windows)
    monkeypatch.setattr(files, "REPLACE_SECONDS", 0.2)
    ends = contextlib.nullcontext() if is_windows and times == 3 else pytest.raises(PermissionError)
    with ends:
        write_whole(path, lambda file: file.write(b"now"))
    assert path.exists() == (times == 3)
