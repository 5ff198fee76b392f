"""Commands that are printed work as they are, in the shell of this system."""

import os
import shlex

import pytest

from common.commands import python_command, quoted


def test_a_path_with_a_space_stays_one_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UV_RUN_RECURSION_DEPTH", raising=False)
    line = python_command("tuning.run", "--resume", "/a b/it's")
    if os.name != "nt":
        assert shlex.split(line) == ["python", "-m", "tuning.run", "--resume", "/a b/it's"]
    assert python_command("tuning.run", "--resume", "/a/b") == "python -m tuning.run --resume /a/b"


def test_on_windows_it_is_quoted_for_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("common.commands.os.name", "nt")
    assert quoted(["a", r"C:\a b\c", 1]) == r'a "C:\a b\c" 1'


def test_under_uv_it_runs_under_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")
    assert python_command("tuning.run") == "uv run python -m tuning.run"
