from pathlib import Path

import pytest

from common.storage.location import StorageError, location
from common.storage.objects import Objects
from common.storage.working_copy import INDEX, WorkingCopy, working_folder
from tests.storage_server import StorageServer, faulty_proxy


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects(location((tmp_path / "store").as_uri()), patience=5)


@pytest.fixture
def copy(objects: Objects, tmp_path: Path) -> WorkingCopy:
    return WorkingCopy(tmp_path / "copy", objects)


def files(copy: WorkingCopy) -> dict[str, bytes]:
    """What a copy holds, by key."""
    paths = [path for path in copy.folder.rglob("*") if path.is_file() and not path.name.startswith(".storage")]
    return {path.relative_to(copy.folder).as_posix(): path.read_bytes() for path in paths}


def test_a_pull_makes_files_like_objects(copy: WorkingCopy, objects: Objects) -> None:
    objects.put_all([("experiment.json", b"{}"), ("results/a", b"1"), ("results/b", b"2"), ("trials/0/x", b"3")])
    assert copy.pull(["experiment.json", "results/", "missing.json"]) == {"experiment.json", "results/a", "results/b"}
    assert files(copy) == {"experiment.json": b"{}", "results/a": b"1", "results/b": b"2"}
    objects.put("results/a", b"9")
    objects.remove(["results/b"])
    assert copy.pull(["results/"]) == {"results/a", "results/b"}
    assert files(copy) == {"experiment.json": b"{}", "results/a": b"9"}
    assert copy.pull([""]) == {"trials/0/x"}


def test_a_pull_keeps_files_of_other_prefixes(copy: WorkingCopy, objects: Objects) -> None:
    objects.put_all([("a/1", b"1"), ("a/2/3", b"1"), ("b/1", b"2")])
    copy.pull(["a/", "b/"])
    objects.remove(["a/1", "a/2/3", "b/1"])
    assert copy.pull(["a/"], but=["a/2/"]) == {"a/1"}
    assert files(copy).keys() == {"a/2/3", "b/1"}
    assert copy.pull(["a/"]) == {"a/2/3"}
    assert files(copy).keys() == {"b/1"}
    assert not (copy.folder / "a").exists()


def test_what_was_fetched_is_not_fetched_again(s3_server: StorageServer, s3_bucket: str, monkeypatch, tmp_path: Path) -> None:
    objects = Objects(location(s3_bucket))
    objects.put_all((f"results/{number}", str(number).encode()) for number in range(5))
    with faulty_proxy(s3_server) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        copy = WorkingCopy(tmp_path / "copy", Objects(location(s3_bucket)))
        assert len(copy.pull(["results/"])) == 5
        assert proxy.requests == {"GET": 6}  # a list, and the objects
        assert copy.pull(["results/"]) == set()
        assert WorkingCopy(tmp_path / "copy", Objects(location(s3_bucket))).pull(["results/"]) == set()
        assert proxy.requests == {"GET": 8}
        objects.put("results/3", b"new")
        proxy.requests.clear()
        assert copy.pull(["results/"]) == {"results/3"}
        assert proxy.requests == {"GET": 2}


def test_a_file_of_another_length_than_was_fetched_is_fetched_again(copy: WorkingCopy, objects: Objects) -> None:
    objects.put_all([("a", b"whole"), ("b", b"whole")])
    copy.pull([""])
    (copy.folder / "a").write_bytes(b"torn"[:2])
    (copy.folder / "b").unlink()
    assert copy.pull([""]) == {"a", "b"}
    assert files(copy) == {"a": b"whole", "b": b"whole"}


@pytest.mark.parametrize(
    "damage", ["", "[]", '{"format": 1, "uri": "s3://other", "stamps": {}}', '{"format": 1, "stamps": {"a": [1]}}']
)
def test_a_damaged_index_or_one_of_another_place_counts_for_nothing(copy: WorkingCopy, objects: Objects, damage: str) -> None:
    objects.put("a", b"whole")
    copy.pull([""])
    (copy.folder / INDEX).write_text(damage)
    assert copy.pull([""]) == {"a"}


def test_an_object_that_cannot_be_a_file_beside_another_is_one_line(s3_bucket: str, tmp_path: Path) -> None:
    objects = Objects(location(s3_bucket))
    objects.put_all([("a", b"1"), ("a/b", b"2")])
    with pytest.raises(StorageError, match="cannot be copied to"):
        WorkingCopy(tmp_path / "copy", objects).pull([""])


def test_working_folders_differ_by_place_and_role_and_lie_in_the_cache(cache: Path) -> None:
    one, two = location("s3://bucket/a/ppo-1"), location("s3://bucket/b/ppo-1")
    folders = {working_folder(place, role) for place in (one, two) for role in ("run", "read", "trial-00003")}
    assert len(folders) == 6
    assert {folder.parent for folder in folders} == {cache / "storage"}
