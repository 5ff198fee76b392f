"""A journal in pieces: whatever a kill leaves is a beginning of it."""

from pathlib import Path
from typing import Any

import pytest

from tests.tuning.storage.stand_in import KilledError, dies_at, in_memory
from tuning.storage import journal_chunks
from tuning.storage.journal_chunks import chunk_key, fetch_journal, put_journal, trim_journal


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_chunks, "CHUNK", 16)


def lines(first: int, last: int) -> bytes:
    return b"".join(b"entry %d\n" % number for number in range(first, last))


def fetched(objects: Any, folder: Path) -> bytes:
    path = folder / "fetched.journal"
    fetch_journal(objects, path)
    return path.read_bytes() if path.exists() else b""


def test_a_journal_comes_back_as_it_was_put(tmp_path: Path) -> None:
    objects, path = in_memory(), tmp_path / "own.journal"
    assert fetched(objects, tmp_path) == b""
    length = 0
    for last in (1, 2, 3, 7, 8, 20):
        path.write_bytes(lines(0, last))
        put_journal(objects, path, length, len(lines(0, last)))
        length = len(lines(0, last))
        assert fetched(objects, tmp_path) == lines(0, last)
    sizes = [stamp.nbytes for key, stamp in objects.listed("study/").items()]
    assert set(sizes[:-1]) == {16}


def test_a_whole_piece_is_written_no_more(tmp_path: Path) -> None:
    objects, path = in_memory(), tmp_path / "own.journal"
    path.write_bytes(lines(0, 8))
    put_journal(objects, path, 0, 64)
    put_journal(objects, path, 48, 64)
    assert objects.changes == [*(f"+{chunk_key(number)}" for number in range(4)), f"+{chunk_key(3)}"]


@pytest.mark.parametrize("kill_at", range(12))
def test_a_kill_between_any_two_puts_leaves_a_beginning_that_goes_on(tmp_path: Path, kill_at: int) -> None:
    objects, path, length = in_memory(), tmp_path / "own.journal", 0
    dies_at(objects, kill_at)
    killed = False
    try:
        for last in (2, 5, 9, 20):
            path.write_bytes(lines(0, last))
            put_journal(objects, path, length, path.stat().st_size)
            length = path.stat().st_size
    except KilledError:
        killed = True
    assert killed
    objects.before = lambda change: None
    content = fetched(objects, tmp_path)
    assert lines(0, 20).startswith(content)
    # The next run cuts a partial line, and goes on.
    own = tmp_path / "fetched.journal"
    length = trim_journal(objects, own)
    whole = content[: content.rfind(b"\n") + 1]
    assert length == len(whole)
    assert fetched(objects, tmp_path) == whole
    own.write_bytes(whole + b"other\n" * 9)
    put_journal(objects, own, length, own.stat().st_size)
    assert fetched(objects, tmp_path) == whole + b"other\n" * 9


@pytest.mark.parametrize("kill_at", range(4))
def test_a_kill_while_a_partial_line_is_cut_leaves_a_beginning(tmp_path: Path, kill_at: int) -> None:
    objects, path = in_memory(), tmp_path / "own.journal"
    content = lines(0, 2) + b"x" * 40
    path.write_bytes(content)
    put_journal(objects, path, 0, len(content))
    dies_at(objects, kill_at)
    try:
        assert trim_journal(objects, path) == len(lines(0, 2))
        assert kill_at == 3
    except KilledError:
        assert kill_at < 3
    assert content.startswith(fetched(objects, tmp_path))
    assert fetched(objects, tmp_path).startswith(lines(0, 1))


@pytest.mark.parametrize("kill_at", range(5))
def test_a_journal_that_was_copied_as_a_file_becomes_pieces_whatever_a_kill_leaves(tmp_path: Path, kill_at: int) -> None:
    objects = in_memory()
    objects.put("study.journal", lines(0, 5) + b"partial")
    for _ in range(2):
        assert fetched(objects, tmp_path)[:40] == lines(0, 5)
        dies_at(objects, kill_at)
        try:
            assert trim_journal(objects, tmp_path / "fetched.journal") == 40
        except KilledError:
            assert kill_at < 4
        objects.before = lambda change: None
        kill_at = 99
    assert fetched(objects, tmp_path) == lines(0, 5)
    assert "study.journal" not in objects.contents


def test_a_journal_without_a_piece_in_the_middle_ends_there(tmp_path: Path) -> None:
    objects, path = in_memory(), tmp_path / "own.journal"
    path.write_bytes(lines(0, 8))
    put_journal(objects, path, 0, 64)
    objects.remove([chunk_key(1)])
    assert fetched(objects, tmp_path) == lines(0, 8)[:16]


def test_an_older_copy_here_is_replaced_by_what_the_storage_has(tmp_path: Path) -> None:
    (tmp_path / "fetched.journal").write_bytes(b"old\n")
    assert fetched(in_memory(), tmp_path) == b""
