"""`python -m tuning` lists the commands that are installed."""

import pytest

from tests.test_docs import our_commands
from tuning.__main__ import main


def test_every_installed_command_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    printed = capsys.readouterr().out
    for module in set(our_commands()) - {"envs.preview"}:
        assert f"python -m {module}" in printed
