"""What is cached is made once, and whole or not at all."""

from pathlib import Path

import pytest

from envs import cache


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.FOLDER_VARIABLE, str(tmp_path))


def test_a_folder_is_filled_once() -> None:
    calls = []

    def fill(folder: Path) -> None:
        calls.append(folder)
        (folder / "content").write_text("x", encoding="utf-8")

    first, second = cache.cached_folder("a/b", fill), cache.cached_folder("a/b", fill)
    assert first == second
    assert (first / "content").is_file()
    assert len(calls) == 1


def test_a_filling_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fill(folder: Path) -> None:
        (folder / "half").write_text("x", encoding="utf-8")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        cache.cached_folder("a/b", fill)
    assert list((tmp_path / "a").iterdir()) == []


def test_the_second_process_takes_the_result_of_the_first() -> None:
    def fill(folder: Path) -> None:
        cache.cached_folder("a", lambda other: (other / "by").write_text("first", encoding="utf-8"))
        (folder / "by").write_text("second", encoding="utf-8")

    assert (cache.cached_folder("a", fill) / "by").read_text(encoding="utf-8") == "first"


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    def write(path: Path) -> None:
        path.write_text("half", encoding="utf-8")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        cache.cached_file("a/b.txt", write)
    assert list((tmp_path / "a").iterdir()) == []
