"""A search that had to stop says why and how to continue."""

from pathlib import Path

import pytest

from common.errors import UserError
from tuning.search.record.errors import SearchStoppedError, continue_command


@pytest.fixture(autouse=True)
def _without_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a user who calls Python itself."""
    monkeypatch.delenv("UV_RUN_RECURSION_DEPTH", raising=False)


def test_a_storage_beside_a_folder_is_in_the_command() -> None:
    error = SearchStoppedError("the disk is full", Path("experiments/one"), storage="s3://bucket/x")
    command, python = "--resume experiments/one --storage s3://bucket/x", "resume('experiments/one', storage='s3://bucket/x')"
    assert command in str(error)
    assert python in str(error)


def test_it_names_reason_and_continuation() -> None:
    error = SearchStoppedError("the disk is full", Path("/x/one"))
    assert isinstance(error, UserError)
    assert (error.reason, error.folder) == ("the disk is full", Path("/x/one"))
    assert str(error).splitlines() == [
        "the disk is full",
        "then continue with: python -m tuning.run --resume /x/one, or in Python: resume('/x/one')",
    ]


def test_trust_is_said_again_as_nothing_stores_it() -> None:
    line = str(SearchStoppedError("the disk is full", Path("/x/one"), trust_scenario=True)).splitlines()[1]
    assert "--resume /x/one --trust-scenario, or" in line
    assert line.endswith("resume('/x/one', trust_scenario=True)")
    assert "trust" not in continue_command(Path("/x/one"))


def test_the_cluster_is_said_again_as_nothing_stores_it() -> None:
    line = str(SearchStoppedError("the disk is full", Path("/x/one"), address="10.0.0.1:6379")).splitlines()[1]
    assert "--resume /x/one --address 10.0.0.1:6379, or" in line
    assert line.endswith("resume('/x/one', address='10.0.0.1:6379')")
    line = str(SearchStoppedError("the disk is full", Path("/x/one"), callback=("a.b:C",))).splitlines()[1]
    assert "--resume /x/one --callback a.b:C, or" in line
    assert line.endswith("resume('/x/one', callback=('a.b:C',))")
    assert "address" not in continue_command(Path("/x/one"))
