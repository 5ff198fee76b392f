"""The smallest comparison: each method searches, its winner is trained again, and nothing is done twice."""

from pathlib import Path

import pytest

from benchmarks.real_searches.__main__ import Options, main
from benchmarks.real_searches.records import Records

METHODS = ("ours:plan=none", "ray-tune:plan=none", "sb3")  # a plan would take the minute to prepare


@pytest.mark.slow
def test_a_comparison_ends_with_a_line_for_each_method_and_the_same_command_adds_nothing(
    small_schema: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("stable_baselines3")
    options = Options(
        sites=(str(small_schema),), methods=METHODS, seeds=(0,), budget="1m", steps=1000, evaluations=2, validation_weeks=1, cores=1, runs=1,
        work=tmp_path,
    )  # fmt: skip
    assert main(options) == 0, capsys.readouterr().err
    found = {name: Records(tmp_path).rows(name) for name in ("cells", "judged", "bounds")}
    assert [row["method"] for row in found["cells"]] == [row["method"] for row in found["judged"]] == [*METHODS]
    printed = capsys.readouterr().out
    assert all(f"| {method} | 1 |" in printed for method in METHODS)
    assert main(options) == 0
    assert {name: Records(tmp_path).rows(name) for name in found} == found
