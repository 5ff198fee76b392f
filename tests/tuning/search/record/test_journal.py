"""A journal that a kill cut off is mended before anything is appended to it; one that is not as it was written is refused."""

from collections.abc import Callable
from pathlib import Path

import optuna
import pytest

from tuning.search.record.journal import DamagedStudyError, has_entries, open_mended_journal


def test_half_a_line_and_stale_locks_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "study.journal"
    optuna.create_study(storage=open_mended_journal(path), study_name="one")
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"op_code": 0, "half')
    for name in ("study.journal.lock", "study.journal.lock.rename"):
        (tmp_path / name).touch()
    storage = open_mended_journal(path)
    assert path.read_bytes() == whole
    assert {entry.name for entry in tmp_path.iterdir()} == {"study.journal"}
    assert optuna.get_all_study_names(storage) == ["one"]


def test_a_file_without_one_whole_line_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "study.journal"
    path.write_bytes(b'{"half')
    assert optuna.get_all_study_names(open_mended_journal(path)) == []
    assert path.read_bytes() == b""


def written(folder: Path) -> Path:
    """A journal with a study of two trials."""
    path = folder / "study.journal"
    study = optuna.create_study(storage=open_mended_journal(path), study_name="one")
    for _ in range(2):
        study.tell(study.ask(), 0.5)
    return path


def replaced_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (replaced_by_folder, "it is no file"),
        (lambda path: path.write_bytes(b"\xff\n" + path.read_bytes()), "line 1 is no entry"),
        (lambda path: path.write_bytes(path.read_bytes() + b"[]\n"), "line 6 is no entry"),
        (lambda path: path.write_bytes(path.read_bytes() + b'{"op_code": "a"}\n'), "line 6 is no entry"),
        (lambda path: path.write_bytes(b"[" * 100_000 + b"\n"), "line 1 is no entry"),
    ],
)
def test_a_journal_that_cannot_be_read_is_refused(tmp_path: Path, damage: Callable[[Path], object], why: str) -> None:
    path = written(tmp_path)
    damage(path)
    before = {entry: entry.read_bytes() for entry in tmp_path.iterdir() if entry.is_file()}
    with pytest.raises(DamagedStudyError, match=why) as refused:
        open_mended_journal(path)
    assert "\n" not in str(refused.value)
    assert {entry: entry.read_bytes() for entry in tmp_path.iterdir() if entry.is_file()} == before


def test_a_journal_has_entries_once_a_line_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "study.journal"
    assert not has_entries(path)
    path.write_bytes(b"half")
    assert not has_entries(path)
    path.write_bytes(b"whole\n")
    assert has_entries(path)
