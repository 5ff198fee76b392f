"""Paths and names that no system takes are one line."""

import errno
import os
from pathlib import Path

import pytest

from common.paths import (
    FOLDER_VARIABLE,
    LinkError,
    PathError,
    cache_folder,
    fit_name,
    is_share,
    missing_folders,
    name_fault,
    new_folder,
    refuse_links,
    remove_empty,
    shortened,
    user_path,
)


def test_a_home_folder_is_put_in_and_a_path_need_not_exist(tmp_path: Path) -> None:
    assert user_path("~/a") == Path.home() / "a"
    assert user_path("not/there") == Path("not/there")
    (tmp_path / "file").touch()
    assert user_path(tmp_path / "file" / "below") == tmp_path / "file" / "below"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("~no-such-user/a", "no user has this home folder"),
        ("a" * 300, r"a{60}\.\.\.a{20} \(300 letters\): File name too long"),
        ("a\0b", "cannot be a path"),
        ("\ud800", r"'\\ud800' cannot be a path"),
    ],
)
def test_what_the_system_takes_for_no_path_is_one_line(given: str, message: str) -> None:
    with pytest.raises(PathError, match=message) as refused:
        user_path(given)
    assert "\n" not in str(refused.value)


def test_a_path_behind_a_closed_folder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "stat", refused)
    with pytest.raises(PathError, match=r"closed/one: Permission denied; choose another path"):
        user_path("closed/one")


def test_a_path_on_another_machine_is_told_by_its_name() -> None:
    shares = (r"\\evil\share\a.json", "//evil/share", r"/\evil\a", r"\\?\UNC\evil\a", r"\??\UNC\evil", r"\\.\a")
    own = ("", "a", "/a//b", r"\a\b", r"C:\a", "Z:/a", r"a\\b", "~/a", "iquitos:pv_kwp=1")
    assert [given for given in (*shares, *own) if is_share(given)] == [*shares]


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "make a name"), ("a b", "make a name"), ("a:b", "make a name"), ("..", "make a name"), ("a/b", "make a name"),
        (".hidden", "make a name"), ("a\n", "make a name"), ("ä", "make a name"), ("a ", "make a name"),
        ("a" * 300, "300 letters"), ("CON", "device"), ("nul", "device"), ("com1.x", "device"), ("a.", "ends in a dot"),
    ],
)  # fmt: skip
def test_a_name_that_some_system_refuses(name: str, fault: str) -> None:
    assert fault in name_fault(name)
    assert not any(map(name_fault, ("a", "A.b_c-1", "console", "com", "nul1", "9", "a" * 200)))


def test_any_text_begins_a_name_and_long_paths_are_shortened() -> None:
    assert fit_name("iquitos:pv kwp=1") == "iquitos-pv-kwp-1"
    assert name_fault(f"a{fit_name('x' * 300)}-1") == ""
    assert shortened("a/b") == "a/b"
    assert len(shortened("a" * 5000)) < 110


def test_an_error_of_a_full_disk_has_the_new_folders_name(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="space") as full, new_folder(tmp_path / "a"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert full.value.filename == str(tmp_path / "a")


def test_a_new_folder_stays_unless_an_error_ends_its_making(tmp_path: Path) -> None:
    with new_folder(tmp_path / "a/b") as folder:
        (folder / "file").touch()
    assert (tmp_path / "a/b/file").is_file()
    with pytest.raises(FileNotFoundError), new_folder(tmp_path / "c") as folder:
        (folder / "missing/file").touch()
    assert not (tmp_path / "c").exists()


def test_a_folder_that_is_there_or_cannot_be_is_no_new_one(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name, message in (("", "is there already"), ("file", "is there already"), ("file/inner", "cannot be made")):
        with pytest.raises(PathError, match=message), new_folder(tmp_path / name):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_only_folders_that_were_missing_and_are_empty_are_removed(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    made = missing_folders(there / "a" / "b")
    assert made == (there / "a" / "b", there / "a")
    made[0].mkdir(parents=True)
    assert missing_folders(made[0]) == ()
    (there / "a" / "kept").touch()
    remove_empty(made)
    assert [path.name for path in (there / "a").iterdir()] == ["kept"]
    (there / "a" / "kept").unlink()
    remove_empty(made[1:])
    assert list(tmp_path.rglob("*")) == [there]


@pytest.mark.parametrize("given", ["s3://key:secret@bucket/a", Path("s3://key:secret@bucket/a")])
def test_a_uri_is_no_path_and_its_credentials_are_not_told(given: str | Path) -> None:
    with pytest.raises(PathError, match="is a URI, and a path on this machine belongs here") as caught:
        user_path(given)
    assert "secret" not in str(caught.value)


def test_the_variable_names_the_cache_and_the_system_has_a_place_without_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert cache_folder() == tmp_path
    for unset in (lambda: monkeypatch.setenv(FOLDER_VARIABLE, ""), lambda: monkeypatch.delenv(FOLDER_VARIABLE)):
        unset()
        assert cache_folder().name == "building-tuner"


@pytest.mark.parametrize("target", ["a", "x", "nowhere"])
def test_a_link_is_refused_wherever_it_leads_but_the_folder_itself_may_be_one(tmp_path: Path, target: str) -> None:
    folder = tmp_path / "one"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "x").touch()
    (tmp_path / "link").symlink_to(folder)
    refuse_links(tmp_path / "none")
    refuse_links(tmp_path / "link")
    link = folder / "a" / "b" / "link"
    link.symlink_to(folder / target)
    with pytest.raises(LinkError, match="is a link") as refused:
        refuse_links(folder)
    assert str(link) in str(refused.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(LinkError, match="neither a file nor a folder"):
        refuse_links(tmp_path)
