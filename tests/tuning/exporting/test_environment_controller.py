"""The example names what it lacks."""

import runpy
import shutil
import sys
from pathlib import Path

import pytest

from tuning.exporting import environment_controller


@pytest.mark.parametrize(
    ("given", "said"),
    [([], r"python controller\.py Pendulum-v1"), (["NoSuch-v1"], "^error: Environment `NoSuch` doesn't exist")],
)
def test_what_it_lacks_is_one_line(given: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "controller.py"
    shutil.copyfile(str(environment_controller.__file__), script)
    monkeypatch.setattr(sys, "argv", [str(script), *given])
    with pytest.raises(SystemExit, match=said):
        runpy.run_path(str(script), run_name="__main__")
