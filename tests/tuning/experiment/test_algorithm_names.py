"""Names of algorithms: this project's, then those of installed packages."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Annotated

import pytest
import tyro

from tuning.experiment import algorithm_names
from tuning.experiment.algorithm_names import ALL, GROUP, choice, entries, names
from tuning.experiment.errors import UsageError
from tuning.experiment.settings import Settings, parsed


def test_those_of_this_project_come_in_the_order_in_which_all_runs_them() -> None:
    assert names()[:3] == ("sac", "ppo", "a2c")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """Entry points that packages register, beside what is installed."""
    found: list[EntryPoint] = []
    monkeypatch.setattr(algorithm_names, "entry_points", lambda group: found)
    entries.cache_clear()
    yield found
    entries.cache_clear()


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, GROUP)


def test_those_of_packages_follow_by_name(installed: list[EntryPoint]) -> None:
    installed += [entry("zeta", "z:Z"), entry("alpha", "a:A"), entry("alpha", "a:A")]
    assert names() == ("sac", "ppo", "a2c", "alpha", "zeta")


@pytest.mark.parametrize("name", ["sac", "all"])
def test_a_name_that_is_taken_is_refused(installed: list[EntryPoint], name: str) -> None:
    installed.append(entry(name, "other:SPEC"))
    with pytest.raises(UsageError, match=f"{name} = other:SPEC .* uses a name that stands for"):
        names()


def test_two_packages_cannot_share_a_name(installed: list[EntryPoint]) -> None:
    installed += [entry("new", "one:SPEC"), entry("new", "two:SPEC")]
    with pytest.raises(UsageError, match=r"two:SPEC .* stands for one:SPEC"):
        names()


@dataclass(frozen=True)
class Options:
    algo: Annotated[str, choice(ALL)] = "ppo"
    """Learning algorithm."""


def test_an_option_takes_every_name_and_what_it_adds(installed: list[EntryPoint]) -> None:
    installed.append(entry("new", "one:SPEC"))
    for name in ("sac", "ppo", "a2c", "new", "all"):
        assert parsed(Options, ["--algo", name], None, "program") == Options(name)
    assert parsed(Options, [], Options("sac"), "program") == Options("sac")
    with pytest.raises(UsageError, match=r"invalid choice 'nope' for argument '--algo'.*'new'"):
        parsed(Options, ["--algo", "nope"], None, "program")


def test_help_lists_the_names_and_the_default(installed: list[EntryPoint], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        tyro.cli(Options, args=["--help"])
    said = capsys.readouterr().out
    assert "--algo {sac,ppo,a2c,all}" in said
    assert "(default: ppo)" in said


def test_settings_take_a_name_that_is_not_installed_so_that_old_experiments_open() -> None:
    assert Settings.from_json({"algo": "of another machine"}).algo == "of another machine"
