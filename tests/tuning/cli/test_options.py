"""Options come from a dataclass; what is wrong with a command line is one line."""

from dataclasses import dataclass
from typing import Annotated, Literal

import pytest

from common.errors import UsageError
from tuning.cli.options import parse
from tuning.experiment.algorithm_names import choice, names


@dataclass(frozen=True)
class Options:
    """Some options."""

    number: int = 1
    """A number."""
    colour: Literal["red", "blue"] = "red"
    """A colour."""
    share: float = 0.5
    """A share."""
    algo: Annotated[str, choice()] = "ppo"
    """An algorithm."""


def test_what_is_not_given_has_the_fields_default_or_the_one_that_is_handed_over() -> None:
    assert parse(Options, ["--colour", "blue"], None, "test") == Options(colour="blue")
    assert parse(Options, ["--colour", "blue"], Options(number=5), "test") == Options(number=5, colour="blue")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--number", "many"], "many"),
        (["--number", "1.5"], "1.5"),
        (["--number", "nan"], "nan"),
        (["--number", "\uff11"], "\uff11"),
        (["--share", "\uff11"], "\uff11"),
        (["--share", "half"], "half"),
        (["--colour", "green"], "green"),
        (["--nmber", "3"], "--nmber"),
        (["--algo", "dqn"], "dqn"),
        (["--number"], "--number"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_it(arguments: list[str], named: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(Options, arguments, None, "test")
    text = str(refused.value)
    assert named in text
    assert text.endswith("; see --help")
    assert "\n" not in text
    assert "\N{BOX DRAWINGS LIGHT HORIZONTAL}" not in text


@pytest.mark.parametrize(("text", "value"), [("1e6", 1_000_000), ("1_000_000", 1_000_000), ("12", 12), ("-3", -3)])
def test_whole_numbers_are_typed_in_several_ways(text: str, value: int) -> None:
    assert parse(Options, ["--number", text], None, "test") == Options(number=value)


def test_help_names_the_program_its_options_and_all_algorithms(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(Options, ["--help"], None, "python -m test")
    assert not ended.value.code
    text = capsys.readouterr().out
    for word in ("python -m test", "--number", "A colour.", *names()):
        assert word in text
