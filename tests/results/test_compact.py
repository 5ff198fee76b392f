"""The command packs experiments, and names what it cannot pack."""

from pathlib import Path

import pytest

from common.storage.working_copy import INDEX
from results.compact import main
from tests.results.made import settle


def test_a_line_tells_of_each_table(experiment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(experiment)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{experiment} reports: 2 trials packed, 3 files are 1 now",
        f"{experiment} evaluations: 0 trials packed, 0 files are 0 now",
        f"{experiment} trials: 0 trials gathered, 4 files are read as 4 now",
    ]


def test_a_folder_that_is_no_experiment_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"error: no results of a search in {tmp_path}: give the folder of an experiment\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sign", ["copy", "settings"])
def test_a_folder_that_is_in_a_storage_too_is_refused(sign: str, experiment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It may lack parts that trials wrote into the storage, and a pack without them would count instead of them."""
    if sign == "copy":
        (experiment / INDEX).write_text("{}")
    else:
        settle(experiment, storage="s3://bucket/experiments")
    before = sorted(experiment.rglob("*"))
    assert main([str(experiment)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {experiment} is in a storage too, and only experiments of this machine")
    assert sorted(experiment.rglob("*")) == before


def test_a_folder_without_a_storage_is_packed(experiment: Path) -> None:
    settle(experiment, storage="")
    assert main([str(experiment)]) == 0
