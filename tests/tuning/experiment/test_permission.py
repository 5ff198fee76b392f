"""A trial goes on while its run does and its node stays."""

from pathlib import Path

import pytest

from tuning.experiment.permission import Permission


@pytest.mark.parametrize(("runs", "leaves", "goes_on"), [(True, False, True), (True, True, False), (False, False, False)])
def test_a_trial_goes_on_while_its_run_does_and_its_node_stays(tmp_path: Path, runs: bool, leaves: bool, goes_on: bool) -> None:
    permission = Permission(tmp_path / "running", tmp_path / "leaving")
    for name, is_there in (("running", runs), ("leaving", leaves)):
        if is_there:
            (tmp_path / name).touch()
    assert permission.exists() is goes_on
