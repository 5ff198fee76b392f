"""The example names what it lacks."""

import runpy
import shutil
import sys
from pathlib import Path

import pytest

from tuning.exporting import environment_controller


def test_without_an_environment_it_says_how_one_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "controller.py"
    shutil.copyfile(str(environment_controller.__file__), script)
    monkeypatch.setattr(sys, "argv", [str(script)])
    with pytest.raises(SystemExit, match=r"python controller\.py Pendulum-v1"):
        runpy.run_path(str(script), run_name="__main__")
