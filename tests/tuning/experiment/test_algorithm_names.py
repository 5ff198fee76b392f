"""Names of algorithms are listed without importing one, and no two packages may share one."""

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint

import pytest

from tuning.experiment import algorithm_names
from tuning.experiment.algorithm_names import ALL, GROUP, entries, names
from tuning.experiment.errors import UsageError


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
