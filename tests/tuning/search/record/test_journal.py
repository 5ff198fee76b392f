"""A journal that a kill cut off is mended before anything is appended to it; one that is not as it was written is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import optuna
import pytest

from tuning.search.record.errors import DamagedStudyError
from tuning.search.record.journal import has_entries, open_mended_journal


def test_half_a_line_and_stale_locks_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "study.journal"
    optuna.create_study(storage=open_mended_journal(path), study_name="one")
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"op_code": 0, "half')
    for name in ("study.journal.lock", "study.journal.lock.rename"):
        (tmp_path / name).touch()
    storage = open_mended_journal(path)
    assert path.read_bytes() == whole
    assert {entry.name for entry in tmp_path.iterdir()} == {"study.journal", "study.seal"}
    assert optuna.get_all_study_names(storage) == ["one"]


def test_a_file_without_one_whole_line_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "study.journal"
    path.write_bytes(b'{"half')
    assert optuna.get_all_study_names(open_mended_journal(path)) == []
    assert path.read_bytes() == b""


def written(folder: Path) -> Path:
    """A journal with a study of two trials, and its seal."""
    path = folder / "study.journal"
    study = optuna.create_study(storage=open_mended_journal(path), study_name="one")
    for _ in range(2):
        study.tell(study.ask(), 0.5)
    return path


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def replaced_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (Path.unlink, "it is missing"),
        (replaced_by_folder, "it is no file"),
        (lambda path: path.write_bytes(b""), "it has 0 bytes, and had"),
        (lambda path: path.write_bytes(b"".join(lines(path)[:-1])), "bytes, and had"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1] + b"!"), "its content has changed"),
        (lambda path: path.write_bytes(b"".join(lines(path)[::-1])), "its content has changed"),
        (lambda path: path.write_bytes(path.read_bytes().replace(b"0.5", b"0.6")), "its content has changed"),
        (lambda path: path.write_bytes(b"\xff" * 10_000), "its content has changed"),
    ],
)
def test_a_journal_that_is_not_as_it_was_written_is_refused(tmp_path: Path, damage: Callable[[Path], object], why: str) -> None:
    path = written(tmp_path)
    damage(path)
    before = {entry: entry.read_bytes() for entry in tmp_path.iterdir() if entry.is_file()}
    with pytest.raises(DamagedStudyError, match=why) as refused:
        open_mended_journal(path)
    assert "\n" not in str(refused.value)
    assert {entry: entry.read_bytes() for entry in tmp_path.iterdir() if entry.is_file()} == before


def test_what_follows_the_seal_was_written_before_a_kill(tmp_path: Path) -> None:
    """A kill between an append and its seal loses nothing, and the next append seals both."""
    path = written(tmp_path)
    seal = path.with_suffix(".seal").read_bytes()
    optuna.load_study(storage=open_mended_journal(path), study_name="one").ask()
    path.with_suffix(".seal").write_bytes(seal)
    study = optuna.load_study(storage=open_mended_journal(path), study_name="one")
    assert len(study.trials) == 3
    study.ask()
    assert json.loads(path.with_suffix(".seal").read_bytes())["nbytes"] == len(path.read_bytes())


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"garbage\n", "line 1 is no entry"),
        (b"[1]\n", "line 1 is no entry"),
        (b"[" * 100_000 + b"\n", "line 1 is no entry"),
        (b'{"op_code":"4"}\n', "line 1 is no entry"),
        (b'{"op_code":99}\n', "where it is read"),
        (b'{"op_code":0}\n', "where it is read"),
    ],
)
def test_a_journal_without_a_seal_is_read_line_by_line(tmp_path: Path, content: bytes, why: str) -> None:
    path = written(tmp_path)
    path.with_suffix(".seal").unlink()
    assert len(optuna.load_study(storage=open_mended_journal(path), study_name="one").trials) == 2
    path.write_bytes(content)
    with pytest.raises(DamagedStudyError, match=why):
        open_mended_journal(path)


def test_a_seal_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.with_suffix(".seal").write_text('{"nbytes": "many"}', encoding="utf-8")
    with pytest.raises(DamagedStudyError, match=r"study\.seal cannot be continued: the seal lacks sha256"):
        open_mended_journal(path)


def test_a_journal_with_no_whole_line_has_no_entries(tmp_path: Path) -> None:
    path = tmp_path / "study.journal"
    path.write_bytes(b"half")
    assert not has_entries(path)
    path.write_bytes(b"whole\n")
    assert has_entries(path)
