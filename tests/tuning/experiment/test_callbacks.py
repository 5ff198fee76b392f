"""A user's callbacks are made, or refused with a reason, before a search begins."""

import re
from pathlib import Path

import pytest
from ray.tune import Callback

from common.errors import UsageError
from tuning.experiment.callbacks import callbacks_named

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
a_dict = dict
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
        ("a_dict", r"makes 'dict', which is no ray\.tune\.Callback"),
    ],
)  # fmt: skip
def test_what_makes_none_is_refused_with_its_reason(module: str, attribute: str, reason: str) -> None:
    with pytest.raises(UsageError, match=f"--callback '{module}:{attribute}': it .*{reason}") as error:
        callbacks_named([f"{module}:{attribute}"])
    assert "\n" not in str(error.value)


NO_NAMES = ("", "a", "a.b", "a:", ":b", "a b:c", "../x:y", "a:b.c", "a..b:c")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        *((name, r"it takes package\.module:NAME") for name in NO_NAMES),
        ("builtins:exit", "'builtins:exit': it ends the program in place of making a callback"),
    ],
)
def test_what_is_no_name_is_refused_with_the_form(name: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        callbacks_named([name])
