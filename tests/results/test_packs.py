"""Packs are listed newest first, without a gap in which a part and its pack are both missing."""

from pathlib import Path

import filelock
import pytest

from results import ResultsError, packs
from results.packs import is_trained, listed, locked, number_of


def test_parts_are_sorted_and_the_newest_pack_comes_first(tmp_path: Path) -> None:
    for name in ("packed-00009", "packed-00010", "00001-000000000200", "00000-000000000100", "other"):
        (tmp_path / f"{name}.parquet").touch()
    (tmp_path / "packed-00011.packing").touch()
    found = listed(tmp_path)
    assert [path.stem for path in found.parts] == ["00000-000000000100", "00001-000000000200", "other"]
    assert [number_of(path) for path in found.packs] == [10, 9]
    assert listed(tmp_path / "none").parts == []


def test_a_folder_is_listed_again_where_a_pack_came_meanwhile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The first listing has neither the part that was deleted nor the pack that replaced it."""
    listings = iter([[], [tmp_path / "packed-00000.parquet"], [tmp_path / "packed-00000.parquet"]])
    monkeypatch.setattr(packs, "_files", lambda folder: next(listings))
    assert [path.stem for path in listed(tmp_path).packs] == ["packed-00000"]


def test_a_trial_is_trained_while_its_lock_is_held(tmp_path: Path) -> None:
    assert not is_trained(tmp_path, 3)
    (tmp_path / "trials").mkdir()
    with filelock.FileLock(tmp_path / "trials" / "00003.lock"):
        assert is_trained(tmp_path, 3)
    assert not is_trained(tmp_path, 3)


def test_a_lock_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "results").touch()
    with pytest.raises(ResultsError, match=r"cannot lock .*packs.lock: "), locked(tmp_path):
        pass
