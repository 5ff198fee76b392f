"""Plans that are made up, another machine, clocks, and packages that are installed."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from envs.environments.seen_year import seen_rows
from tests.envs.made_up_plans import made_up_plan
from tests.tuning.clock import Clock
from tuning.experiment import option_values


@pytest.fixture
def a_plan(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Random numbers in place of plans."""
    monkeypatch.setattr("envs.environments.seen_year.shadow", made_up_plan)
    seen_rows.cache_clear()
    yield
    seen_rows.cache_clear()


@pytest.fixture
def elsewhere(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another machine: a folder with a cache of its own."""
    folder = tmp_path_factory.mktemp("there")
    monkeypatch.setenv("BUILDING_TUNER_CACHE", str(folder / "cache"))
    monkeypatch.chdir(folder)


@pytest.fixture
def share(tmp_path: Path) -> str:
    """URI of a storage."""
    return (tmp_path / "share").as_uri()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Of stopwatches and of what measures trials."""
    clock = Clock()
    for module in ("tuning.trial.monitor", "tuning.runtime.stopwatch"):
        monkeypatch.setattr(f"{module}.time", clock)
    return clock


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """Entry points of installed packages, which a test may fill."""
    own: list[EntryPoint] = []
    monkeypatch.setattr(option_values, "entry_points", lambda group: own if group == option_values.GROUP else [])
    option_values.entries.cache_clear()
    yield own
    option_values.entries.cache_clear()
