import fsspec
from fsspec.implementations.memory import MemoryFileSystem

from common.storage.location import Location
from common.storage.remote_store import RemoteStore, is_missing_place


class _Other(MemoryFileSystem):
    """A file system that lists folders, and takes no beginnings of names."""

    protocol = "other"


def test_any_file_system_of_fsspec_serves() -> None:
    fsspec.register_implementation("other", _Other, clobber=True)
    store = RemoteStore(Location("other://place/exp"), 5)
    assert store.listed("") == {}
    for key in ("a/1", "a/12", "b"):
        store.put(key, key.encode())
    assert store.listed("").keys() == {"a/1", "a/12", "b"}
    assert store.listed("a/1").keys() == {"a/1", "a/12"}
    assert store.listed("a/12").keys() == {"a/12"}
    assert store.read("a/12", 1, 3) == b"/1"
    assert store.stamp("a/1").nbytes == 3
    store.remove("b")
    store.remove("b")
    assert store.listed("").keys() == {"a/1", "a/12"}


def test_a_missing_bucket_is_told_from_a_missing_object() -> None:
    assert is_missing_place(FileNotFoundError("The specified bucket does not exist"))
    assert not is_missing_place(FileNotFoundError("a/b"))
