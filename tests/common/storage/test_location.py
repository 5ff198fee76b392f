import os
from pathlib import Path

import pytest

from common.storage.location import Location, StorageError, checked_key, location
from common.uris import without_credentials

SECRET = "wJalrXUtnFEMI"


def test_a_location_has_no_slash_at_its_end_and_its_parts_are_named() -> None:
    place = location("S3://bucket/experiments/ppo-1/")
    assert place == Location("s3://bucket/experiments/ppo-1")
    assert (place.name, str(place.parent), str(place / "a/b.json")) == (
        "ppo-1", "s3://bucket/experiments", "s3://bucket/experiments/ppo-1/a/b.json",
    )  # fmt: skip
    assert location("s3://bucket").parent == location("s3://bucket")


@pytest.mark.parametrize(
    "given", ["localhost:9000", "http://[::1", "http://", "ftp://host", "http://host:x", "http://host:99999"]
)
@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
def test_an_endpoint_that_is_no_address_is_told(monkeypatch: pytest.MonkeyPatch, name: str, given: str) -> None:
    monkeypatch.setenv(name, given)
    with pytest.raises(
        StorageError, match=rf"s3://bucket/a.*: {name}=.* is no address of a server, such as http://localhost:9"
    ):
        location("s3://bucket/a")
    monkeypatch.setenv(name, "http://[::1]:9000")
    assert location("s3://bucket/a").uri == "s3://bucket/a"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("ftpx://host/a", 'no file system has the scheme "ftpx"'),
        ("gs://bucket/a", "gs:// needs gcsfs: uv sync --extra gcs, or pip install gcsfs"),
        ("abfs://bucket/a", "abfs:// needs a package that is not installed: Install adlfs to access Azure"),
        ("s3:///a", "names no bucket; write s3://bucket/folder"),
        ("memory://a", "memory:// keeps objects in one process"),
        ("https://host/a", "https:// takes no writes"),
        ("s3://bucket/a?versionId=3", "has a query"),
        ("s3://bucket/a/../b", 'has ".." between'),
        ("s3://bucket/a//b", 'has "" between'),
        ("s3://bucket/ppo-*", "is a pattern"),
        ("s3://bucket/a\x1bc", "has a character that no URI has"),
        ("file://host/share", 'names the machine "host"; write file:///'),
        ("file:///", "names no folder"),
        ("file:///tmp/a%00b", "has a character that no path has"),
        ("file:///tmp/%2e%2e/b", 'has ".." between'),
        ("plain", "is no URI"),
    ],
)
def test_what_names_no_place_is_refused_in_one_line(given: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec

    def without_gcsfs(scheme: str) -> type:
        if scheme == "gs":
            raise ImportError("gcsfs")
        return get(scheme)

    get = fsspec.get_filesystem_class
    monkeypatch.setattr(fsspec, "get_filesystem_class", without_gcsfs)
    with pytest.raises(StorageError) as caught:
        location(given)
    assert told in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "given",
    [
        f"s3://AKIAKEY:{SECRET}@bucket/a",
        f"s3://AKIAKEY:{SECRET}/K7MD/bPx@bucket/a",
        f"nosuch://AKIAKEY:{SECRET}@b",
        f"s3://bucket/a?token={SECRET}",
    ],
)
def test_credentials_in_a_uri_are_refused_and_not_repeated(given: str) -> None:
    with pytest.raises(StorageError) as caught:
        location(given)
    assert SECRET not in str(caught.value)
    assert "AKIAKEY" not in str(caught.value)
    assert "***" in str(caught.value)
    assert SECRET not in without_credentials(f"two: {given} and {given}")


@pytest.mark.skipif(os.name == "nt", reason="paths of POSIX")
def test_a_file_uri_names_a_folder_by_its_whole_path() -> None:
    assert location("file:///mnt/my%20share/a").folder == Path("/mnt/my share/a")
    assert location("file://localhost/mnt/a").folder == Path("/mnt/a")
    assert location("s3://bucket/a").folder is None
    with pytest.raises(StorageError, match="no whole path on this system"):
        location("file:///C:/experiments")


@pytest.mark.skipif(os.name != "nt", reason="drives of Windows")
def test_a_file_uri_names_a_drive() -> None:
    assert location("file:///C:/experiments/a").folder == Path("C:/experiments/a")
    with pytest.raises(StorageError, match="no whole path on this system"):
        location("file:///experiments")


@pytest.mark.parametrize("key", ["../a", "a/../b", "/a", "a//b", "", "a\\b", "C:a", "a\nb", "."])
def test_a_key_that_leads_elsewhere_is_refused(key: str) -> None:
    with pytest.raises(StorageError):
        checked_key(key, Location("s3://bucket"))
