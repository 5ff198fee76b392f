"""A callback that a user names is imported and made, or refused in a line before anything is created."""

import re
from pathlib import Path

import pytest
from ray.tune import Callback

from common.errors import UsageError
from tuning import run
from tuning.search.run.callbacks import callbacks_named

MODULE = """
from ray.tune import Callback

class Mine(Callback):
    pass

def made_here():
    return Mine()

class NeedsMore(Callback):
    def __init__(self, project):
        pass

class Lacks(Callback):
    def __init__(self):
        raise RuntimeError("it was not found - please install it\\nwith a second line")

class NeedsKey(Callback):
    def __init__(self):
        {}["WANDB_KEY"]

number = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """Name of a user's module on the path."""
    name = re.sub(r"\W", "_", f"callbacks_of_{request.node.name}")
    (tmp_path / f"{name}.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_a_class_or_a_function_makes_a_callback(module: str) -> None:
    made = callbacks_named([f"{module}:Mine", f"{module}:made_here"])
    assert [type(own).__name__ for own in made] == ["Mine", "Mine"]
    assert all(isinstance(own, Callback) for own in made)
    assert callbacks_named([]) == []


@pytest.mark.parametrize(
    ("attribute", "reason"),
    [
        ("Nothing", "AttributeError"), ("NeedsMore", "TypeError.*project"), ("number", "TypeError"), ("NeedsKey", "KeyError"),
        ("Lacks", r"RuntimeError: it was not found - please install it\)"), ("Path", "AttributeError"),
    ],
)  # fmt: skip
def test_what_makes_none_is_refused_with_its_reason(module: str, attribute: str, reason: str) -> None:
    with pytest.raises(UsageError, match=f"--callback '{module}:{attribute}': it cannot be made.*{reason}") as error:
        callbacks_named([f"{module}:{attribute}"])
    assert "\n" not in str(error.value)


def test_what_is_made_has_to_be_a_callback() -> None:
    with pytest.raises(UsageError, match=r"it makes 'dict', which is no ray\.tune\.Callback"):
        callbacks_named(["builtins:dict"])


@pytest.mark.parametrize("name", ["", "a", "a.b", "a:", ":b", "a b:c", "../x:y", "a:b.c", "a..b:c"])
def test_what_is_no_name_is_refused_with_the_form(name: str) -> None:
    with pytest.raises(UsageError, match=r"it takes package\.module:NAME"):
        callbacks_named([name])


def test_one_that_cannot_be_imported_is_a_line_before_anything_is_made(
    small_schema: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new"
    line = ["--scenario", str(small_schema), "--dir", str(folder), "--steps", "1000", "--callback", "no.such.module:Name"]
    assert run.main(line) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert "error: --callback 'no.such.module:Name': it cannot be made (ModuleNotFoundError" in printed
    assert not folder.exists()
