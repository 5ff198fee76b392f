from pathlib import Path, PureWindowsPath

import pytest

from common import uris
from common.errors import UserError
from common.uris import is_flattened, is_uri, stand_for, uri_of, with_uris, without_credentials


@pytest.fixture(autouse=True)
def _none_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uris, "_STANDING", {})


def test_a_scheme_and_two_slashes_make_a_uri_and_paths_and_drives_are_none() -> None:
    uris = ("s3://bucket/a", "gs://bucket", "file:///mnt/a", "simplecache::s3://bucket/a")
    others = ("experiments/ppo", "/mnt/s3://a", r"C:\experiments", "C:/experiments", "C://experiments", "", Path("s3://bucket"))
    assert [given for given in (*uris, *others) if is_uri(given)] == [*uris]


def test_a_path_that_was_made_from_a_uri_is_known() -> None:
    assert is_flattened(Path("s3://bucket/a"))
    assert not is_flattened("s3:/bucket/a")
    assert not any(map(is_flattened, (Path("a:b/c"), Path("/s3:/a"), Path("s3:"), PureWindowsPath("C:/a"))))


def test_credentials_and_queries_are_not_repeated() -> None:
    assert without_credentials("a s3://key:secret@b/x, c") == "a s3://***@b/x, c"
    assert without_credentials("s3:/key:secret@b/x") == "s3:/***@b/x"
    assert without_credentials("no s3://AKIA:wJal/K7/bP@b/x of me@home") == "no s3://***@b/x of me@home"
    assert without_credentials("file:///home/me@here/x s3://b/a:b@c") == "file:///home/me@here/x s3://b/a:b@c"
    assert without_credentials("C:/me@home/x and a@b") == "C:/me@home/x and a@b"
    assert str(UserError("no folder s3:/key:secret@b/x")) == "no folder s3:/***@b/x"
    assert without_credentials("s3://b/x?token=secret and s3://b/y") == "s3://b/x?*** and s3://b/y"
    assert without_credentials('"s3://b/x?token=secret" has a query') == '"s3://b/x?***" has a query'
    assert without_credentials('"s3://b/x?a="1"&token="secret"" has') == '"s3://b/x?***" has'


def test_a_folder_that_stands_for_a_uri_is_told_as_the_uri(tmp_path: Path) -> None:
    one, other = tmp_path / "ppo-1", tmp_path / "ppo-1-read"
    stand_for(one, "s3://b/ppo-1")
    stand_for(other, "s3://b/other")
    assert uri_of(one) == "s3://b/ppo-1"
    assert uri_of(tmp_path) is None
    assert (
        with_uris(f"{one / 'results' / 'a'}: bad; {other}, {one}.")
        == "s3://b/ppo-1/results/a: bad; s3://b/other, s3://b/ppo-1."
    )
    assert with_uris(f"{tmp_path / 'ppo-12'} and {tmp_path}") == f"{tmp_path / 'ppo-12'} and {tmp_path}"
    assert str(UserError(f"no trial in {one}")) == "no trial in s3://b/ppo-1"


def test_keys_have_slashes_also_where_paths_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uris, "_STANDING", {r"C:\cache\ppo-1": "s3://b/ppo-1"})
    assert with_uris(r"C:\cache\ppo-1\results\a.parquet: cut") == "s3://b/ppo-1/results/a.parquet: cut"
