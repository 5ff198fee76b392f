"""The smallest comparison: a method searches, its winner is trained again, and nothing is done twice."""

from pathlib import Path

import pytest

from benchmarks.real_searches.__main__ import Options, main
from benchmarks.real_searches.records import Records


@pytest.mark.slow
def test_a_comparison_ends_with_its_table_and_the_same_command_adds_nothing(
    small_schema: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("stable_baselines3")
    options = Options(
        sites=(str(small_schema),), methods=("sb3",), seeds=(0,), budget="5s", steps=1000, evaluations=2, validation_weeks=1,
        cores=1, runs=1, work=tmp_path,
    )  # fmt: skip
    assert main(options) == 0, capsys.readouterr().err
    found = {name: Records(tmp_path).rows(name) for name in ("cells", "judged", "bounds")}
    assert [len(rows) for rows in found.values()] == [1, 1, 1]
    assert "| sb3 | 1 |" in capsys.readouterr().out
    assert main(options) == 0
    assert {name: Records(tmp_path).rows(name) for name in found} == found
