"""Part files are written whole, and work that is repeated replaces its first result."""

from pathlib import Path

import pandas as pd
import pytest

from results import load
from results.parts import read_part
from results.writer import drop_parts_after, judged_path, part_path, table_folder, write_part
from tests.results.trials import KINDS, trial


def test_work_done_again_replaces_its_first_result(experiment: Path) -> None:
    path = part_path(experiment, "reports", 0, 200)
    write_part(path, "reports", [{"trial": 0, "update": 2, "steps": 200, "score": 0.5}])
    reports = load(experiment).reports
    assert len(reports) == 3
    assert reports.loc[1, "score"] == 0.5


def test_a_column_that_the_schema_does_not_know_is_an_error_and_nothing_is_written(tmp_path: Path) -> None:
    path = part_path(tmp_path, "reports", 0, 1)
    with pytest.raises(KeyError, match="scroe"):
        write_part(path, "reports", [{"trial": 0, "scroe": 1.0}])
    assert not path.exists()


def test_a_crash_while_writing_leaves_the_part_before(experiment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = part_path(experiment, "trials", 0)
    before = read_part(path)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("common.files.os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_part(path, "trials", [trial(0, 0.7)], KINDS)
    assert read_part(path) == before


def test_hyperparameters_keep_their_types(experiment: Path) -> None:
    trials = load(experiment).trials
    assert pd.api.types.is_float_dtype(trials["hp_learning_rate"])
    assert pd.api.types.is_integer_dtype(trials["hp_batch_size"])
    assert pd.api.types.is_float_dtype(trials["hp_target_kl"])
    assert trials["hp_activation"].tolist() == ["relu"] * 4
    assert "used_batch_size" in trials.columns


def test_a_part_that_is_being_written_is_not_there_yet(experiment: Path) -> None:
    (part_path(experiment, "trials", 9).with_suffix(".new")).write_bytes(b"half")
    assert len(load(experiment).trials) == 4


def test_parts_beyond_some_steps_are_dropped_of_one_trial_alone(experiment: Path) -> None:
    drop_parts_after(experiment, "reports", 0, 100)
    assert sorted(path.name for path in table_folder(experiment, "reports").iterdir()) == [
        "00000-000000000100.parquet",
        "00001-000000000200.parquet",
    ]


def test_measures_are_columns_like_any_other(tmp_path: Path) -> None:
    path = judged_path(tmp_path, "rule", "batch")
    row = {"contender": "rule", "year": 3, "cost": 2.5}
    write_part(path, "evaluations", [row], measures={"cost": ("float64", "currency", "of energy")})
    assert {name: value for name, value in read_part(path)[0].items() if value is not None} == row
    with pytest.raises(KeyError, match="cost"):
        write_part(path, "evaluations", [row])
