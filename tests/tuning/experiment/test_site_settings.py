"""Each command that names a site takes the splits that a search takes, under the same names."""

from __future__ import annotations

from dataclasses import asdict, fields

import pytest

from envs.scenarios.splits import Splits
from tuning.cli.options import parse
from tuning.diagnosis.settings import DoctorSettings, MemorySettings
from tuning.experiment.settings import Settings, splits_in
from tuning.experiment.site_settings import SiteSettings
from tuning.judging.settings import HeadroomSettings

COMMANDS = (MemorySettings, DoctorSettings, HeadroomSettings)
STATED = {entry.name: ("1", "4") for entry in fields(Splits)}


def test_its_fields_are_those_of_a_search() -> None:
    own = {entry.name: entry.default for entry in fields(SiteSettings)}
    assert own == {entry.name: entry.default for entry in fields(Settings) if entry.name in own}
    assert set(own) == {"scenario", *STATED}


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_command_takes_each_of_them(kind: type[SiteSettings]) -> None:
    options = [part for name, values in STATED.items() for part in (f"--{name.replace('_', '-')}", *values)]
    found = parse(kind, ["--scenario", "iquitos-38", *options], None, "test")
    assert (found.scenario, asdict(splits_in(found))) == ("iquitos-38", STATED)
    assert kind("iquitos-38").scenario == "iquitos-38"


@pytest.mark.parametrize("kind", COMMANDS)
def test_its_words_are_in_the_help(kind: type[SiteSettings], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(kind, ["--help"], None, "test")
    said = " ".join(capsys.readouterr().out.split())
    assert "Buildings that validate" in said
    assert "a CityLearn schema.json" in said
