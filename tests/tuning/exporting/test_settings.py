"""Command lines of exports and rollouts become settings; where nothing is given, the folders are chosen later."""

from pathlib import Path

import pytest

from common.errors import UsageError
from tuning.cli.command import parse
from tuning.exporting.settings import ExportSettings, RolloutSettings


def test_command_lines_become_settings() -> None:
    export = parse(ExportSettings, ["one", "--to", "mall", "--trial", "3"], None, "test")
    assert export == ExportSettings("one", "3", to=Path("mall"))
    rollout = parse(RolloutSettings, ["s3://bucket/one", "--year", "4", "--keep", "last"], None, "test")
    assert rollout == RolloutSettings("s3://bucket/one", keep="last", year=4, to=None)


def test_an_export_needs_a_target() -> None:
    with pytest.raises(UsageError, match="--to"):
        parse(ExportSettings, ["one"], None, "test")
