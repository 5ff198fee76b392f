"""What a command refuses is said on stderr, and told by its exit status."""

import pytest

from common.command_line import INTERRUPTED, REFUSED, Parser, status_of
from common.errors import UserError


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "error: the following arguments are required: EXPERIMENT; see --help\n"),
        (["a", "--zzz\x1b[2J"], "error: unrecognized arguments: --zzz\\x1b[2J; see --help\n"),
    ],
)
def test_what_is_wrong_is_one_line(words: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    parser = Parser("python -m test")
    parser.add_argument("experiment", metavar="EXPERIMENT")
    with pytest.raises(SystemExit) as stop:
        parser.parse_args(words)
    assert (stop.value.code, capsys.readouterr().err) == (REFUSED, line)


def _refused() -> None:
    raise UserError("no file \x1b[2J", "nor another")


def _interrupted() -> None:
    raise KeyboardInterrupt


def test_the_status_of_a_command_is_its_own_or_says_why_it_ended(capsys: pytest.CaptureFixture[str]) -> None:
    assert (status_of(lambda: None), status_of(lambda: 1), status_of(_interrupted)) == (0, 1, INTERRUPTED)
    assert capsys.readouterr().err == ""
    assert status_of(_refused) == REFUSED
    assert capsys.readouterr().err == "error: no file \\x1b[2J\nnor another\n"
