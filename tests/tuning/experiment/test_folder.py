"""Folders of experiments."""

import errno
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from common.errors import OtherFormatError, UsageError
from common.paths import LinkError, missing_folders
from tests.envs.schema_changes import edit
from tuning.experiment import folder as module
from tuning.experiment.folder import create, discard, existing, open_experiment, save
from tuning.experiment.settings import Settings


def test_what_is_created_is_opened(tmp_path: Path) -> None:
    made = create(Settings(name="one", dir=str(tmp_path), seed=3))
    assert open_experiment(tmp_path / "one") == made


def test_names_are_found_by_counting(tmp_path: Path) -> None:
    names = [
        create(Settings(dir=str(tmp_path), scenario=s)).paths.folder.name for s in ("iquitos", "iquitos", "iquitos:pv_kwp=4162")
    ]
    assert names == ["ppo-iquitos-1", "ppo-iquitos-2", "ppo-iquitos-pv_kwp-4162-1"]
    given = create(Settings(dir=str(tmp_path), scenario=str(tmp_path / "site" / "schema.json")))
    assert given.paths.folder.name == "ppo-site-1"


def test_settings_that_change_are_written_whole(tmp_path: Path) -> None:
    made = create(Settings(name="one", dir=str(tmp_path)))
    save(replace(made, settings=replace(made.settings, trials=99)))
    assert open_experiment(tmp_path / "one").settings.trials == 99
    assert [p.name for p in made.paths.folder.glob("experiment*")] == ["experiment.json"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes in folders")
def test_a_pipe_in_place_of_the_settings_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "experiment.json")
    with pytest.raises(LinkError, match=r"experiment\.json is neither a file nor a folder"):
        open_experiment(tmp_path)


@pytest.mark.parametrize("name", ["", "../outside", "| a | b |", "a\nb"])
def test_a_name_in_a_file_is_checked_too(tmp_path: Path, name: str) -> None:
    made = create(Settings(name="one", dir=str(tmp_path)))
    save(replace(made, settings=replace(made.settings, name=name)))
    with pytest.raises(UsageError, match=r"experiment\.json is damaged \(name is .*make a name"):
        open_experiment(made.paths.folder)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="choose another --dir"):
        create(Settings(name="one", dir=str(tmp_path / "file")))


def test_a_folder_without_an_experiment_is_told_in_words_that_suit_every_command(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no experiment in .*: give the folder that holds experiment\.json") as refused:
        open_experiment(tmp_path)
    assert "--" not in str(refused.value).replace(str(tmp_path), "")


def test_of_a_name_in_place_of_a_folder_the_folder_is_told(tmp_path: Path) -> None:
    made = create(Settings(name="one", dir=str(tmp_path / Settings.dir)))
    with pytest.raises(UsageError, match=re.escape(f"did you mean {made.paths.folder}?")):
        open_experiment(tmp_path / "one")
    with pytest.raises(UsageError) as refused:
        open_experiment(tmp_path / "two")
    assert "did you mean" not in str(refused.value)


@pytest.mark.parametrize("name", ["../outside", "CON"])
def test_a_name_names_no_folder_outside(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"--name .*: (the letters|it is the name of a device)"):
        create(Settings(name=name, dir=str(tmp_path / "experiments")))
    assert existing(Settings(name=name, dir=str(tmp_path))) is None
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_folder_that_cannot_be_filled_is_removed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refused(*given: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(module, "write_json", refused)
    with pytest.raises(UsageError, match=rf"cannot fill .*one: {os.strerror(number)}; free some space"):
        create(Settings(name="one", dir=str(tmp_path / "a" / "b")))
    assert list(tmp_path.iterdir()) == []


def test_what_holds_a_part_or_was_there_before_is_not_discarded(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "one"
    made = missing_folders(folder)
    folder.mkdir(parents=True)
    assert not discard(folder, ())
    (folder / "part.parquet").touch()
    assert not discard(folder, made)
    (folder / "part.parquet").unlink()
    (folder / "experiment.json").touch()
    assert discard(folder, made)
    assert list(tmp_path.iterdir()) == []


def written(folder: Path) -> Path:
    facts = {"scenario": "key", "space": {"gamma": "a number"}, "machine": {"versions": '{"ray": "1"}'}}
    return create(Settings(name="one", dir=str(folder), seed=3), facts).paths.settings


def test_a_file_of_another_version_says_so(tmp_path: Path) -> None:
    path = written(tmp_path)
    edit(path, lambda content: content.update(format=module.FORMAT + 1))
    with pytest.raises(OtherFormatError, match=r"has format 4, and .* reads 3: use the version that wrote it"):
        open_experiment(path.parent)


@pytest.mark.parametrize("name", ["name", "dir", "scenario"])
def test_what_may_be_edited_by_hand_is_no_damage(tmp_path: Path, name: str) -> None:
    path = written(tmp_path)
    edit(path, lambda content: content["settings"].update({name: "another"}))
    assert getattr(open_experiment(path.parent).settings, name) == "another"


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda content: content["settings"].update(seed=4), "a setting in it has changed since it was written"),
        (lambda content: content["marks"].update(scenario="other"), "a setting in it has changed"),
        (lambda content: content["settings"].update(seed="4"), 'seed is "4", not a whole number'),
        (lambda content: content["settings"].update(seed=-1), "--seed -1: it is at least 0"),
        (lambda content: content["settings"].pop("seed"), "settings lacks seed"),
        (lambda content: content["settings"].update(colour="red"), "another version of this package made it"),
        (lambda content: content.update(settings=[1]), r"settings is \[1\], not an object"),
        (lambda content: content.update(marks=[]), r"marks is \[\], not an object"),
        (lambda content: content["marks"].update(space={"a": 1}), r"space\.a is 1, not a text"),
        (lambda content: content["marks"].update(machine={"versions": "{"}), "Expecting property name"),
        (lambda content: content["marks"].update(machine={"versions": "[]"}), r"versions is \[\], not an object"),
        (lambda content: content.pop("format"), "format is null, not a whole number"),
        (lambda content: content.pop("sha256"), "a setting in it has changed since it was written"),
    ],
)
def test_a_value_that_is_not_as_it_was_written_is_named(
    tmp_path: Path, damage: Callable[[dict[str, dict[str, object]]], object], why: str
) -> None:
    path = written(tmp_path)
    edit(path, damage)
    with pytest.raises(UsageError, match=rf"experiment\.json is damaged \(.*{why}") as refused:
        open_experiment(path.parent)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"null", b"7", b"[" * 100_000, None])
def test_what_is_no_settings_is_one_line(tmp_path: Path, content: bytes | None) -> None:
    path = written(tmp_path)
    if content is None:
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=r"experiment\.json (is damaged|cannot be read) \(") as refused:
        open_experiment(path.parent)
    assert "\n" not in str(refused.value)
