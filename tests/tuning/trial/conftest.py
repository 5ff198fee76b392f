import pytest


@pytest.fixture
def every_update_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a trial can be cut off after each."""
    monkeypatch.setattr("tuning.trial.training.REPORT_SECONDS", 0.0)
