"""What tests of a run share."""

from pathlib import Path

import pytest

from tests.tuning.search.fakes import REPORTS
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    """An experiment of two trials."""
    return create(Settings(name="one", dir=str(tmp_path), trials=2, evaluations=REPORTS, steps=4096))
