"""Folders of experiments."""

from dataclasses import replace
from pathlib import Path

import pytest

from tuning.experiment.errors import UsageError
from tuning.experiment.folder import create, open_experiment, save
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


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    made = create(Settings(name="one", dir=str(tmp_path)))
    made.paths.settings.write_text(made.paths.settings.read_text(encoding="utf-8"), encoding="utf-8-sig")
    assert open_experiment(made.paths.folder) == made


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="choose another --dir"):
        create(Settings(name="one", dir=str(tmp_path / "file")))


def test_a_folder_without_an_experiment_is_told_in_words_that_suit_every_command(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no experiment in .*: an experiment's folder holds experiment\.json") as refused:
        open_experiment(tmp_path)
    assert "--" not in str(refused.value).replace(str(tmp_path), "")


@pytest.mark.parametrize("name", ["../outside", "a/b", "..", ".hidden", "a b", "a\\b"])
def test_a_name_names_no_folder_outside(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="make a name"):
        create(Settings(name=name, dir=str(tmp_path / "experiments")))
    assert not list(tmp_path.iterdir())
