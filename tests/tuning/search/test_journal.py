"""A journal that a kill cut off is mended before anything is appended to it."""

from pathlib import Path

import optuna

from tuning.search.journal import open_mended_journal


def test_half_a_line_and_stale_locks_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "study.journal"
    optuna.create_study(storage=open_mended_journal(path), study_name="one")
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"op_code": 0, "half')
    for name in ("study.journal.lock", "study.journal.lock.rename"):
        (tmp_path / name).touch()
    storage = open_mended_journal(path)
    assert path.read_bytes() == whole
    assert [entry.name for entry in tmp_path.iterdir()] == ["study.journal"]
    assert optuna.get_all_study_names(storage) == ["one"]


def test_a_file_without_one_whole_line_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "study.journal"
    path.write_bytes(b'{"half')
    assert optuna.get_all_study_names(open_mended_journal(path)) == []
    assert path.read_bytes() == b""
