"""What is cached is made once, and whole or not at all."""

import errno
import math
import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from envs import cache
from envs.cache import CacheError


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


@pytest.mark.parametrize(
    "key",
    [
        "site/year-x/../../../escaped", "site/..", "../escaped", "..", ".", "", "/escaped", "/etc/escaped", "site/", "site//a",
        "site/./a", "site/year-1/a", "site/year-\0",
        *(["site/year-..\\..\\escaped", "C:escaped", "C:\\escaped", "\\\\evil\\share"] if os.name == "nt" else []),
    ],
)  # fmt: skip
def test_a_key_that_leads_elsewhere_is_refused_and_nothing_is_made(key: str, tmp_path: Path) -> None:
    for call in (
        lambda: cache.cached_file(key, refuse),
        lambda: cache.cached_folder(key, refuse),
        lambda: cache.is_cached(key),
    ):
        with pytest.raises(CacheError, match=r"is no entry of the cache: .*; restore the file that names it") as refused:
            call()
        assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("key", ["iquitos-pv_kwp-41.5-v3/year-1", "a b ä..-0123456789ab/tables-0-v1.npz", ".hidden-0/a"])
def test_a_key_of_a_scenario_is_its_path(key: str, tmp_path: Path) -> None:
    assert cache.cached_file(key, lambda path: path.write_bytes(b"a") and None) == tmp_path / key
    assert cache.is_cached(key)


@pytest.mark.parametrize("call", [cache.cached_file, cache.cached_folder])
def test_what_fails_halfway_leaves_nothing(tmp_path: Path, call: Callable[..., Path]) -> None:
    def fail(path: Path) -> None:
        (path / "half" if path.is_dir() else path).write_text("x", encoding="utf-8")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        call("a/b", fail)
    assert list((tmp_path / "a").iterdir()) == []


def test_the_second_process_takes_the_result_of_the_first() -> None:
    def fill(folder: Path) -> None:
        cache.cached_folder("a", lambda other: (other / "by").write_text("first", encoding="utf-8"))
        (folder / "by").write_text("second", encoding="utf-8")

    assert (cache.cached_folder("a", fill) / "by").read_text(encoding="utf-8") == "first"


def test_an_entry_that_another_process_is_about_to_return_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    second = threading.Thread(target=lambda: cache.cached_file("a", lambda path: path.write_text("second", encoding="utf-8")))
    write_sum, seen = cache._write_sum, list[str]()

    def meanwhile(target: Path, digest: str) -> None:
        monkeypatch.setattr(cache, "_write_sum", write_sum)
        second.start()
        second.join(timeout=0.5)
        seen.append(target.read_text(encoding="utf-8"))
        write_sum(target, digest)

    monkeypatch.setattr(cache, "_write_sum", meanwhile)
    path = cache.cached_file("a", lambda path: path.write_text("first", encoding="utf-8"))
    second.join()
    assert [*seen, path.read_text(encoding="utf-8")] == ["first", "first"]


# -- damage ----------------------------------------------------------------------------------


def write(path: Path) -> None:
    path.write_bytes(bytes(range(200)))


def fill(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "a.csv").write_text("1,2", encoding="utf-8")
    (folder / "inner" / "b.csv").write_text("3,4", encoding="utf-8")


DAMAGE: dict[str, Callable[[Path], object]] = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:100]),
    "empty": lambda path: path.write_bytes(b""),
    "a bit": lambda path: path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"0"),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_named_and_made_anew(damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = cache.cached_file("a/b.bin", write)
    DAMAGE[damage](path)
    assert not cache.is_cached("a/b.bin")
    assert cache.cached_file("a/b.bin", write).read_bytes() == bytes(range(200))
    assert capsys.readouterr().err == f"note: {path} of the cache is damaged; it is made anew\n"
    cache.cached_file("a/b.bin", refuse)
    assert capsys.readouterr().err == ""


def refuse(path: Path) -> None:
    raise AssertionError("it was there already")


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "a.csv").write_text("1,3", encoding="utf-8"),
        lambda folder: (folder / "a.csv").unlink(),
        lambda folder: (folder / "inner" / "b.csv").rename(folder / "b.csv"),
        lambda folder: (folder / "c.csv").write_text("", encoding="utf-8"),
        lambda folder: (shutil.rmtree(folder), folder.write_bytes(b"")),
    ],
)
def test_a_damaged_folder_is_named_and_filled_anew(
    damage: Callable[[Path], object], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = cache.cached_folder("a/year", fill)
    damage(folder)
    assert cache.cached_folder("a/year", fill) == folder
    assert str(folder) in capsys.readouterr().err
    assert sorted(path.name for path in folder.rglob("*.csv")) == ["a.csv", "b.csv"]
    assert (folder / "a.csv").read_text(encoding="utf-8") == "1,2"
    cache.cached_folder("a/year", refuse)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"0" * 64, None])
def test_a_damaged_checksum_or_a_folder_in_its_place_costs_its_entry(
    content: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    sums = cache.cached_file("a/b.bin", write).with_name("b.bin.sum")
    sums.unlink()
    if content is None:
        sums.mkdir()
    else:
        sums.write_bytes(content)
    cache.cached_file("a/b.bin", write)
    assert "is damaged" in capsys.readouterr().err
    assert cache.is_cached("a/b.bin")


def test_an_entry_without_a_checksum_is_made_anew_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    path = cache.cached_file("a/b.bin", write)
    path.with_name("b.bin.sum").unlink()
    path.write_bytes(b"of an earlier version")
    assert cache.cached_file("a/b.bin", write).read_bytes() == bytes(range(200))
    assert capsys.readouterr().err == ""


def test_what_was_checked_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.cached_file("a/b.bin", write)
    cache.cached_file("a/b.bin", refuse)

    monkeypatch.setattr(cache.zlib, "crc32", lambda *_: pytest.fail("it was read again"))
    cache.cached_file("a/b.bin", refuse)


@dataclass(frozen=True)
class Kept:
    name: str
    pairs: tuple[tuple[float, float], ...]


def test_values_and_arrays_are_made_once_and_come_back_as_they_were() -> None:
    made: list[int] = []
    kept = [Kept("\u00e4", ((1.0, math.inf), (0.1, 2.0))), Kept("", ())]
    for _ in range(2):
        assert cache.cached_json(list[Kept], "a/b.json", lambda: made.append(1) or kept) == kept  # type: ignore[func-returns-value]
        arrays = cache.cached_arrays("a/b.npz", lambda: made.append(1) or {"x": np.arange(3), "n": 2.5})  # type: ignore[func-returns-value]
        assert (arrays["x"].tolist(), float(arrays["n"])) == ([0, 1, 2], 2.5)
        array = cache.cached_array("a/c.npy", lambda: made.append(1) or np.eye(2), by_rows=True)  # type: ignore[func-returns-value]
        assert np.array_equal(array, np.eye(2))
    assert len(made) == 3


# -- a cache that cannot be used -------------------------------------------------------------


@pytest.mark.parametrize("call", [cache.cached_file, cache.cached_folder])
def test_a_variable_that_points_to_a_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[..., Path]
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    for value in (file, file / "below"):
        monkeypatch.setenv(cache.FOLDER_VARIABLE, str(value))
        with pytest.raises(CacheError) as refused:
            call("a/b", write)
        message = str(refused.value)
        assert message.startswith(f"BUILDING_TUNER_CACHE is '{value}', which cannot be used (")
        assert message.endswith("; set it to a folder that you may write to")


def test_a_file_in_place_of_the_systems_cache_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    monkeypatch.delenv(cache.FOLDER_VARIABLE)
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *names, **options: str(file))
    with pytest.raises(CacheError, match=rf"the cache {file} cannot be used \(.*\); make it a folder .* or set BUILDING_TUNER"):
        cache.cached_file("a/b", write)


@pytest.mark.parametrize("method", ["mkdir", "stat", "rename", "open"])
def test_a_folder_without_permission_is_named(method: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = cache.cached_file("a/kept.bin", write)
    path.write_bytes(b"damaged")

    def denied(*arguments: object, **options: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path))

    monkeypatch.setattr(Path, method, denied)
    with pytest.raises(CacheError, match="Permission denied at "):
        cache.cached_file("a/kept.bin", lambda path: os.close(os.open(path, os.O_CREAT)))


def test_a_full_disk_is_named() -> None:
    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(CacheError, match="No space left on device"):
        cache.cached_file("a/b", full)


def test_other_errors_of_the_content_are_not_the_caches() -> None:
    def fail(path: Path) -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file", "weather.csv")

    with pytest.raises(FileNotFoundError, match=r"weather\.csv"):
        cache.cached_file("a/b", fail)


def test_the_content_reaches_the_disk_before_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for module, name in ((cache.os, "fsync"), (Path, "rename")):
        real = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *values, real=real, name=name: (calls.append(name), real(*values))[1])
    cache.cached_folder("a/year", fill)
    assert calls[:2] == ["fsync", "fsync"]
    assert "rename" in calls[2:]
