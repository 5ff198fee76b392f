"""A wrong command line is refused in one line."""

import pytest

from common.command_line import REFUSED, Parser


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
