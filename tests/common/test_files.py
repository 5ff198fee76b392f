"""A crash leaves the old file or the new one."""

from pathlib import Path

import pytest

from common.files import read_text, sync_folder, write_whole


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    for content in (b"first", b"second"):
        write_whole(path, lambda file, content=content: file.write(content))
        assert path.read_bytes() == content
    assert [own.name for own in tmp_path.iterdir()] == ["a.bin"]


def test_a_writer_that_fails_leaves_the_file_before(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"before")

    def fail(file: object) -> None:
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        write_whole(path, fail)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]  # a full disk needs the room


def test_a_text_is_read_without_its_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for encoding in ("utf-8", "utf-8-sig"):
        path.write_text('{"a": "é"}', encoding=encoding)
        assert read_text(path) == '{"a": "é"}'
    path.write_text("é", encoding="latin-1")
    with pytest.raises(ValueError, match="utf-8"):
        read_text(path)


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
