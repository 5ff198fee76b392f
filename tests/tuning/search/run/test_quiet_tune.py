"""Tune prints nothing of its own."""

from types import SimpleNamespace
from typing import Any

import pytest
from ray.tune.progress_reporter import TrialProgressCallback
from ray.tune.utils.callback import _create_default_callbacks

from tuning.search.run.quiet_tune import QuietTune


def test_tune_uses_it_in_place_of_its_own(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
    found = _create_default_callbacks([QuietTune()], air_verbosity=None)
    assert [type(own) for own in found if isinstance(own, TrialProgressCallback)] == [QuietTune]
    trial: Any = SimpleNamespace(last_result={}, trial_id="a")
    (quiet,) = found
    quiet.on_trial_complete(1, [trial], trial)
    quiet.on_trial_error(1, [trial], trial)
    quiet.on_trial_result(1, [trial], trial, {"done": True})
    assert capsys.readouterr().out == ""
