"""`python -m tuning` lists the commands that are installed."""

import pytest

from tests.test_docs import our_commands
from tuning.__main__ import main


def test_every_installed_command_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == main(["--help"]) == 0
    printed = capsys.readouterr().out
    for module in set(our_commands()) - {"envs.preview"}:
        assert f"python -m {module}" in printed


def test_a_command_that_is_typed_as_a_word_is_refused_below_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--algo", "ppo"]) == 2
    printed = capsys.readouterr()
    assert "tuning.run" in printed.out
    assert printed.err == "error: run: a command is its own module, as in python -m tuning.run\n"
