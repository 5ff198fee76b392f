import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from common.storage import faults
from common.storage.faults import StorageLostError
from common.storage.location import Location, StorageError, location
from common.storage.objects import Objects
from tests.storage_server import (
    ENVIRONMENT,
    Faults,
    StorageServer,
    dead_endpoint,
    environment,
    faulty_proxy,
)

pytestmark = pytest.mark.usefixtures("_hasty")
FAULTS = ("slow", "busy", "cut_request", "cut_answer", "lost_answer")


@pytest.fixture
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts follow one another at once."""
    monkeypatch.setattr(faults, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(faults, "MOST_PAUSE", 0.1)


@pytest.fixture(params=["s3", "file"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    """Of a bucket, and of a folder."""
    if request.param == "file":
        return Objects(location((tmp_path / "store" / "exp").as_uri()), patience=5)
    return Objects(location(request.getfixturevalue("s3_bucket") + "/exp"), patience=5)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a folder in which none can be made")
def test_a_place_in_which_no_folder_can_be_made_is_told_in_a_line() -> None:
    objects = Objects(location("file:///proc/x"), 0.0)
    for write in (objects.put, objects.create):
        with pytest.raises(StorageError, match="file:///proc/x: there is no such folder, and none can be made"):
            write("a", b"1")


def test_objects_are_listed_read_replaced_and_removed(objects: Objects, tmp_path: Path) -> None:
    assert objects.listed() == {}
    assert not objects.has("a/b.json")
    with pytest.raises(FileNotFoundError):
        objects.read("a/b.json")
    objects.put("a/b.json", b"one")
    objects.put("a/empty", b"")
    (tmp_path / "file").write_bytes(b"from a file")
    objects.put("ab", tmp_path / "file")
    assert objects.listed().keys() == {"a/b.json", "a/empty", "ab"}
    assert objects.listed("a/").keys() == {"a/b.json", "a/empty"}
    assert objects.listed("a/b").keys() == {"a/b.json"}
    assert objects.listed("none/") == {}
    assert (objects.read("a/b.json"), objects.read("a/empty"), objects.read("ab")) == (b"one", b"", b"from a file")
    before = objects.stamp("a/b.json")
    assert before == objects.listed()["a/b.json"]
    objects.put("a/b.json", b"two")
    assert objects.stamp("a/b.json") != before, "even with the same length"
    assert objects.read("a/b.json") == b"two"
    objects.remove(["a/b.json", "never"])
    assert objects.listed().keys() == {"a/empty", "ab"}


def test_a_folder_is_no_object(objects: Objects) -> None:
    objects.put("a/b", b"one")
    assert not objects.has("a")
    with pytest.raises(FileNotFoundError):
        objects.read("a")


def winners(writers: list[Objects], key: str) -> list[bytes]:
    """Contents of those that could create an object, of several that try at once."""
    barrier = threading.Barrier(len(writers))

    def create(number: int) -> bool:
        barrier.wait()
        return writers[number].create(key, f"token-{number}".encode())

    with ThreadPoolExecutor(len(writers)) as pool:
        return [f"token-{number}".encode() for number, won in enumerate(pool.map(create, range(len(writers)))) if won]


def test_of_many_that_create_one_object_one_gets_it(objects: Objects) -> None:
    assert winners([objects] * 8, "runs/1") == [objects.read("runs/1")]
    assert objects.listed().keys() == {"runs/1"}


def test_an_object_that_goes_while_another_is_refused_was_not_created(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects.create("runs/1", b"other")

    def gone(key: str) -> bytes:
        raise FileNotFoundError(key)

    monkeypatch.setattr(objects, "read", gone)
    assert not objects.create("runs/1", b"own")


def test_many_are_fetched_and_put_at_once_and_those_that_are_gone_are_left_out(objects: Objects, tmp_path: Path) -> None:
    objects.put_all((f"many/{number}", str(number).encode()) for number in range(40))
    pairs = [(f"many/{number}", tmp_path / "got" / str(number)) for number in range(41)]
    fetched = objects.fetch_all(pairs)
    assert fetched == objects.listed("many/").keys()
    assert {path.name: path.read_text() for path in (tmp_path / "got").iterdir()} == {str(n): str(n) for n in range(40)}


def test_a_fetch_that_fails_leaves_the_file_as_it_was(objects: Objects, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"before")
    with pytest.raises(FileNotFoundError):
        objects.fetch("x", tmp_path / "x")
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["x"]
    assert (tmp_path / "x").read_bytes() == b"before"


@pytest.mark.parametrize("fault", FAULTS)
def test_each_operation_outlasts_a_fault(
    fault: str, s3_server: StorageServer, s3_bucket: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with faulty_proxy(s3_server, Faults(delay=0.05)) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        objects = Objects(location(s3_bucket))
        assert objects.create("first", b"looks for the guard")
        proxy.script = [fault]
        objects.put("a", b"one")
        proxy.script = [fault]
        assert objects.create("b", b"token-1")
        proxy.script = [fault]
        assert not objects.create("b", b"token-2")
        proxy.script = [fault] * 3
        assert objects.read("b") == b"token-1"
        proxy.script = [fault]
        assert objects.listed().keys() == {"a", "b", "first"}
        proxy.script = [fault]
        objects.fetch("b", tmp_path / "b")
        assert (tmp_path / "b").read_bytes() == b"token-1"
        proxy.script = [fault]
        objects.remove(["a"])
        assert not objects.has("a")
        # A slow answer is an answer: three in a row are no reason to read again.
        assert proxy.injected[fault] == (7 if fault == "slow" else 9)


def test_two_runs_that_create_under_faults_never_both_win(
    s3_server: StorageServer, s3_bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with faulty_proxy(s3_server, Faults(failing=0.1, cut_request=0.1, cut_answer=0.1, lost_answer=0.2), seed=1) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        runs = [Objects(location(s3_bucket)) for _ in range(2)]
        for number in range(3):
            assert winners(runs, f"e/{number}") == [runs[0].read(f"e/{number}")]
    assert proxy.injected["lost_answer"] > 0


def no_secret(error: Exception) -> str:
    """A message of one line, without credentials."""
    text = str(error)
    assert text.isprintable()
    assert not any(secret in text for secret in list(ENVIRONMENT.values())[:2])
    return text


def test_a_server_that_is_down_is_told_within_the_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(dead_endpoint()).items():
        monkeypatch.setenv(name, value)
    objects = Objects(location("s3://bucket/exp"), patience=0.4)
    for call in (objects.listed, lambda: objects.put("a", b"one"), lambda: objects.create("a", b"one")):
        since = time.monotonic()
        with pytest.raises(StorageLostError) as caught:
            call()
        assert time.monotonic() - since < 5
        assert "s3://bucket/exp: " in no_secret(caught.value)
        assert "start the command again" in str(caught.value)


def test_a_server_that_never_answers_is_told_too(
    s3_server: StorageServer, s3_bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with faulty_proxy(s3_server, Faults(slow=1.0, delay=4)) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        since = time.monotonic()
        with pytest.raises(StorageLostError):
            Objects(location(s3_bucket), patience=0.1).read("a")
        assert time.monotonic() - since < 3.5


def test_a_server_that_takes_no_content_is_told_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"one")
    with ThreadPoolExecutor() as threads, socket.create_server(("127.0.0.1", 0)) as stopped:
        for name, value in environment(f"http://127.0.0.1:{stopped.getsockname()[1]}").items():
            monkeypatch.setenv(name, value)
        objects = Objects(location("s3://bucket/exp"), patience=0.1)
        calls = (
            lambda: objects.put("a", b"one"), lambda: objects.put("a", tmp_path / "file"), lambda: objects.create("a", b"one"),
        )  # fmt: skip
        for told in [threads.submit(call) for call in calls]:
            assert isinstance(told.exception(timeout=10), StorageLostError)


def test_a_missing_bucket_is_told_at_once(s3_bucket: str) -> None:
    objects = Objects(location("s3://no-such-bucket/exp"))
    calls = (
        objects.listed, lambda: objects.read("a"), lambda: objects.put("a", b"one"),
        lambda: objects.has("a"), lambda: objects.create("a", b"one"), lambda: objects.remove(["a"]),
    )  # fmt: skip
    for call in calls:
        with pytest.raises(StorageError, match="there is no such bucket; create it, or correct the URI") as caught:
            call()
        assert not isinstance(caught.value, StorageLostError)


def test_a_lack_of_permission_is_told_at_once(
    s3_server: StorageServer, s3_bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with faulty_proxy(s3_server, Faults(denied=1.0)) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        objects = Objects(location(s3_bucket))
        for call in (objects.listed, lambda: objects.read("a"), lambda: objects.put("a", b"one"), lambda: objects.has("a")):
            with pytest.raises(StorageError, match="is not permitted") as caught:
                call()
            assert "put credentials for it into the environment, or give this machine a role" in no_secret(caught.value)
        with pytest.raises(StorageError, match=r'creating "\.storage-.*is not permitted'):  # and nothing is removed
            objects.create("a", b"one")
        assert sum(proxy.requests.values()) <= 7  # none is tried again


def test_missing_credentials_are_told_at_once(s3_bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    with pytest.raises(StorageError, match=r"NoCredentialsError.*put credentials"):
        Objects(location(s3_bucket)).listed()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="a user without privileges")
def test_a_folder_that_may_not_be_written_is_told_at_once(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StorageError, match="let this user read and write that folder"):
        Objects(location(tmp_path.as_uri())).put("a", b"one")


class _Careless(MemoryFileSystem):
    """Takes the mode of a creation, and ignores it."""

    protocol = "careless"

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: object) -> None:
        super().pipe_file(path, value, mode="overwrite")


class _Denying(MemoryFileSystem):
    protocol = "denying"

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: object) -> None:
        if self.exists(path):
            raise PermissionError(13, "Permission denied")
        super().pipe_file(path, value, mode=mode)


def test_storage_that_creates_twice_is_refused_before_anything_is_created() -> None:
    fsspec.register_implementation("careless", _Careless, clobber=True)
    objects = Objects(Location("careless://place"))
    objects.put("a", b"one")
    with pytest.raises(StorageError, match="does not refuse to create an object twice"):
        objects.create("b", b"one")
    assert objects.listed().keys() == {"a"}


def test_what_tries_whether_storage_refuses_is_removed_also_where_the_second_try_is_denied() -> None:
    fsspec.register_implementation("denying", _Denying, clobber=True)
    objects = Objects(Location("denying://place"))
    with pytest.raises(StorageError, match=r"creating .* is not permitted"):
        objects.create("b", b"one")
    assert not [path for path in _Denying.store if "denying" in path or ".storage-" in path]


def test_a_key_that_is_no_path_here_is_refused(s3_bucket: str) -> None:
    objects = Objects(location(s3_bucket))
    objects.put("a\\..\\b", b"one")
    with pytest.raises(StorageError, match="no name of a file here"):
        objects.listed()
