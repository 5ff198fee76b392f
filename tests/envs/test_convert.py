"""The command that makes files for CityLearn 3 of those of version 2."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from envs.convert import main
from envs.scenarios.scenario import scenario
from tests.envs.appliances import with_appliance
from tests.envs.schema_changes import edit, edited, put

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def convert(command: Command) -> Command:
    return partial(command, main)


def test_the_search_that_is_printed_can_be_run(small_schema: Path, tmp_path: Path, convert: Command) -> None:
    assert convert(small_schema, "--to", tmp_path / "known")[1].endswith(f"--scenario {tmp_path / 'known' / 'schema.json'}\n")
    path = with_appliance(small_schema, tmp_path / "other")
    assert convert(path, "--to", tmp_path / "new")[1].endswith("schema.json --reward schema\n")
    strange = edited(small_schema, tmp_path / "strange", put("buildings", "mall", "type", value="unittest.TestCase"))
    assert convert(strange, "--to", tmp_path / "own")[1].endswith("schema.json --trust-scenario\n")


def test_a_sound_site_is_copied_as_it_is(small_schema: Path, tmp_path: Path, convert: Command) -> None:
    status, out, _ = convert(small_schema, "--to", tmp_path / "new")
    assert status == 0
    assert "nothing to repair" in out
    assert scenario(str(tmp_path / "new")).key.partition("-")[0] == "new"
    assert json.loads((tmp_path / "new/schema.json").read_text()) == json.loads(small_schema.read_text())
    for file in small_schema.parent.glob("*.csv"):
        assert (tmp_path / "new" / file.name).read_bytes() == file.read_bytes()


def test_what_is_undecided_or_broken_otherwise_is_told_at_once_and_nothing_is_written(
    small_schema: Path, tmp_path: Path, convert: Command
) -> None:
    site = Path(shutil.copytree(small_schema.parent, tmp_path / "site"))

    def change(schema: dict[str, Any]) -> None:
        schema["buildings"]["mall"]["washing_machines"] = {"w": {}}
        schema["buildings"]["mall"]["pv"]["attributes"]["nominal_power"] = -4

    edit(site / "schema.json", change)
    before = {file.name: file.read_bytes() for file in site.iterdir()}
    status, out, err = convert(site, "--to", tmp_path / "new")
    assert (status, out) == (2, "")
    # Without a file it can be nothing else, so nothing else is offered.
    assert "to be decided:\n  buildings.mall.washing_machines.w: CityLearn 3 has no such device; no file with " in err
    assert ": --washing-machines leave-out" in err
    assert "deferrable" not in err
    assert f"to be corrected by hand:\n  {site / 'schema.json'}: buildings.mall.pv.attributes.nominal_power is -4" in err
    assert err.endswith("nothing was written\n")
    assert not (tmp_path / "new").exists()
    assert {file.name: file.read_bytes() for file in site.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{site}", "--to", "{site}/new"], "lies in the folder of the original"),
        (["{site}", "--to", "{other}"], "is there already"),
        (["{site}", "--to", "{other}/new", "--arrival-soc", "80"], "write mean, or a share from 0.02 to 1"),
        (["{other}", "--to", "{other}/new"], "schema.json: name the schema.json of a site"),
    ],
)
def test_a_command_that_cannot_be_carried_out_is_one_line(
    arguments: list[str], message: str, small_schema: Path, tmp_path: Path, convert: Command
) -> None:
    status, out, err = convert(*(text.format(site=small_schema.parent, other=tmp_path) for text in arguments))
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
