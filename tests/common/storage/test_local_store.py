import errno
import os
from pathlib import Path

import pytest

from common.storage import local_store
from common.storage.faults import Fault, fault_of
from common.storage.local_store import LocalStore
from common.storage.location import StorageError, location
from common.storage.objects import Objects


def test_a_write_that_fails_leaves_the_object_as_it_was_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LocalStore(tmp_path)
    store.put("a", b"before")

    def full(content: bytes, size: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(local_store, "pieces", full)
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
        Objects(location(tmp_path.as_uri())).create("epochs/00000001.json", b"own")
    assert list(tmp_path.rglob("*.*")) == []


def test_a_file_that_is_being_written_is_no_object(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.put("x/a", b"one")
    with store._written(tmp_path / "x" / "b", b"two"):
        assert store.listed("").keys() == {"x/a"}


def test_a_replaced_object_has_another_stamp_even_with_the_same_length(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.put("a", b"one")
    before = store.stamp("a")
    store.put("a", b"two")
    assert store.stamp("a") != before


@pytest.mark.parametrize("number", [5, None])
def test_a_file_that_is_open_elsewhere_is_removed_a_moment_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int | None
) -> None:
    """Windows refuses it meanwhile, with the number by which it refuses what is not permitted."""

    def refused(self: Path, missing_ok: bool = False) -> None:
        error = PermissionError(errno.EACCES, "no", str(self))
        if number:
            error.winerror = number  # type: ignore[attr-defined,unused-ignore]
        raise error

    store = LocalStore(tmp_path)
    store.remove("not there")
    monkeypatch.setattr(Path, "unlink", refused)
    with pytest.raises(OSError) as caught:  # noqa: PT011 - its meaning is looked at
        store.remove("a")
    assert fault_of(caught.value) is (Fault.TRANSIENT if number else Fault.DENIED)
