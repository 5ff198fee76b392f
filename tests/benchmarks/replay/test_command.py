"""What is wrong with a command is one line and exit status 2."""

import sys
from dataclasses import dataclass

import pytest

from benchmarks.replay.command import carry_out
from common.errors import UserError


@dataclass(frozen=True)
class Options:
    times: int = 1


def test_what_main_does_gets_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["program", "--times", "3"])
    seen: list[Options] = []
    carry_out(seen.append, Options, None)
    assert seen == [Options(3)]


def test_an_error_of_the_users_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def main(options: Options) -> None:
        raise UserError(f"{options.times}: too few")

    monkeypatch.setattr(sys, "argv", ["program"])
    with pytest.raises(SystemExit) as stopped:
        carry_out(main, Options, None)
    assert stopped.value.code == 2
    assert capsys.readouterr().err == "error: 1: too few\n"
