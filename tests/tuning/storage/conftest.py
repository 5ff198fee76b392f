from pathlib import Path

import pytest

from common.storage.location import Location, location
from common.storage.objects import Objects
from tests.tuning.storage.stand_in import Changes
from tuning.storage import lease


@pytest.fixture
def above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    """A folder for experiments, with a cache beside it; nobody waits for a run that was lost."""
    monkeypatch.setenv("BUILDING_TUNER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(lease, "WATCH_SECONDS", 0.0)
    monkeypatch.setattr(lease, "SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(lease, "LOOK_SECONDS", 0.01)
    return location(f"file://{tmp_path}/storage")


@pytest.fixture
def objects(above: Location) -> Objects:
    """Of an experiment."""
    return Objects(above / "one", patience=0.0)


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> Changes:
    """What changes in a folder of objects."""
    return Changes(monkeypatch)
