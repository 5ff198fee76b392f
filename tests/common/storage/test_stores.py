import errno
import logging
import os
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from common.storage import stores
from common.storage.faults import Fault, fault_of
from common.storage.location import Location, StorageError, location
from common.storage.objects import Objects
from common.storage.stores import LocalStore, _file_system


def test_a_write_that_fails_leaves_the_object_as_it_was_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LocalStore(tmp_path)
    store.put("a", b"before")

    def full(path: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    for call in (store.put, store.create):
        with pytest.raises(OSError, match="No space"):
            call("b" if call == store.create else "a", b"after")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"before"


@pytest.mark.skipif(os.name == "nt", reason="hard links of POSIX")
@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP])
def test_a_file_system_without_hard_links_is_named_as_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refused(path: Path, target: Path) -> None:
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(Path, "hardlink_to", refused)
    with pytest.raises(StorageError, match="has no hard links, so an object could"):
        Objects(location(tmp_path.as_uri())).create("runs/00000001.json", b"own")
    assert list(tmp_path.rglob("*.*")) == []


def test_a_file_that_is_being_written_is_no_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LocalStore(tmp_path)
    store.put("x/a", b"one")
    seen: list[set[str]] = []
    monkeypatch.setattr(stores, "sync_folder", lambda folder: None)
    monkeypatch.setattr("common.files.os.fsync", lambda file: seen.append(set(store.listed(""))))
    store.put("x/b", b"two")
    assert seen == [{"x/a"}]
    assert store.listed("").keys() == {"x/a", "x/b"}


@pytest.mark.parametrize("number", [5, None])
def test_a_file_that_is_open_elsewhere_is_removed_a_moment_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int | None
) -> None:
    """Windows refuses it meanwhile, with the number by which it refuses what is not permitted."""

    def refused(self: Path, missing_ok: bool = False) -> None:
        error: Any = PermissionError(errno.EACCES, "no", str(self))
        if number:
            error.winerror = number
        raise error

    store = LocalStore(tmp_path)
    store.remove("not there")
    monkeypatch.setattr(Path, "unlink", refused)
    with pytest.raises(OSError) as caught:  # noqa: PT011 - its meaning is looked at
        store.remove("a")
    assert fault_of(caught.value) is (Fault.TRANSIENT if number else Fault.DENIED)


class _Other(MemoryFileSystem):
    """A file system that lists folders, and takes no beginnings of names."""

    protocol = "other"


def test_any_file_system_of_fsspec_serves() -> None:
    fsspec.register_implementation("other", _Other, clobber=True)
    objects = Objects(Location("other://place/exp"))
    assert (objects.listed(), objects.folders()) == ({}, [])
    for key in ("a/1", "a/12", "b"):
        objects.put(key, key.encode())
    assert objects.listed("").keys() == {"a/1", "a/12", "b"}
    assert objects.listed("a/1").keys() == {"a/1", "a/12"}
    assert objects.listed("a/12").keys() == {"a/12"}
    assert objects.folders() == ["a"]
    assert objects.read("a/12") == b"a/12"
    assert objects.stamp("a/1").nbytes == 3
    for _ in range(2):
        objects.remove(["b"])
    assert objects.listed("").keys() == {"a/1", "a/12"}


def test_an_object_in_s3_is_read_by_one_request_as_parts_may_be_of_two_contents() -> None:
    assert _file_system("s3", 1.0, 0, frozenset()).max_concurrency == 1


def test_a_client_of_s3_tells_no_notes_which_citylearn_lets_all_packages_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger(), "level", logging.INFO)
    _file_system("s3", 2.0, 0, frozenset())
    for client in ("aiobotocore.credentials", "botocore.configprovider"):
        assert logging.getLogger(client).getEffectiveLevel() == logging.WARNING
