"""Names of algorithms are listed without importing one, and no two packages may share one."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Annotated

import pytest
import tyro

from common.errors import UsageError
from tuning.experiment import algorithm_names
from tuning.experiment.algorithm_names import ALL, GROUP, choice, entries, names
from tuning.experiment.settings import Settings


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """Entry points of installed packages, which a test may fill."""
    own: list[EntryPoint] = []
    monkeypatch.setattr(algorithm_names, "entry_points", lambda group: own if group == GROUP else [])
    entries.cache_clear()
    yield own
    entries.cache_clear()


def test_the_projects_algorithms_come_first_in_the_order_in_which_all_runs_them(installed: list[EntryPoint]) -> None:
    installed += [EntryPoint("zebra", "zoo:ZEBRA", GROUP), EntryPoint("ant", "zoo:ANT", GROUP)]
    assert names() == ("sac", "ppo", "a2c", "ant", "zebra")


@pytest.mark.parametrize("name", ["ppo", ALL])
def test_a_name_that_is_taken_is_refused_with_the_remedy(installed: list[EntryPoint], name: str) -> None:
    installed.append(EntryPoint(name, "zoo:OTHER", GROUP))
    with pytest.raises(UsageError, match=rf"entry point {name} = zoo:OTHER .* rename it, or uninstall its package"):
        entries()


def test_a_package_that_two_folders_hold_counts_once(installed: list[EntryPoint]) -> None:
    installed += [EntryPoint("ant", "zoo:ANT", GROUP)] * 2
    assert names().count("ant") == 1


def test_listing_names_imports_no_algorithm() -> None:
    code = (
        "import sys; from tuning.experiment.algorithm_names import names; names(); "
        "print(*(m for m in sys.modules if m.startswith(('tuning.algorithms', 'search_spaces', 'ray', 'torch', 'optuna'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_two_packages_cannot_share_a_name(installed: list[EntryPoint]) -> None:
    installed += [EntryPoint("new", "one:SPEC", GROUP), EntryPoint("new", "two:SPEC", GROUP)]
    with pytest.raises(UsageError, match=r"two:SPEC .* stands for one:SPEC"):
        names()


@dataclass(frozen=True)
class Options:
    algo: Annotated[str, choice(ALL)] = "ppo"
    """Learning algorithm."""


def test_an_option_takes_every_name_and_what_it_adds(installed: list[EntryPoint], capsys: pytest.CaptureFixture[str]) -> None:
    installed.append(EntryPoint("new", "one:SPEC", GROUP))
    for name in ("sac", "ppo", "a2c", "new", "all"):
        assert tyro.cli(Options, args=["--algo", name]) == Options(name)
    assert tyro.cli(Options, args=[], default=Options("sac")) == Options("sac")
    with pytest.raises(SystemExit, match="2"):
        tyro.cli(Options, args=["--algo", "nope"])
    assert "invalid choice 'nope' for argument '--algo'" in capsys.readouterr().err


def test_help_lists_the_names_and_the_default(installed: list[EntryPoint], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        tyro.cli(Options, args=["--help"])
    said = capsys.readouterr().out
    assert "--algo {sac,ppo,a2c,all}" in said
    assert "(default: ppo)" in said


def test_settings_keep_a_name_that_is_not_installed_so_that_old_experiments_open() -> None:
    assert Settings.from_json({**Settings().to_json(), "algo": "of another machine"}).algo == "of another machine"
