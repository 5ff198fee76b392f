"""Tables are written whole, typed and read back."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from results import ResultsError, load
from results.schema import SCHEMA_VERSION, STATES, TABLES, schema
from results.writer import part_path, read_part, write_part

KINDS = {"learning_rate": float, "batch_size": int, "activation": str, "target_kl": float}


def trial(number: int, score: float | None, state: str = "complete") -> dict[str, Any]:
    return {
        "trial": number, "state": state, "score": score, "started": datetime.now(UTC),
        "hp_learning_rate": 1e-3, "hp_batch_size": 64, "hp_activation": "relu", "hp_target_kl": None,
    }  # fmt: skip


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    for number, score, state in ((0, 0.1, "complete"), (1, 0.3, "complete"), (2, 0.9, "pruned"), (3, None, "failed")):
        write_part(part_path(tmp_path, "trials", number), "trials", [trial(number, score, state)], KINDS)
    for number, steps in ((1, 200), (0, 100), (0, 200)):
        rows = [{"trial": number, "update": steps // 100, "steps": steps, "score": None}]
        write_part(part_path(tmp_path, "reports", number, steps), "reports", rows)
    return tmp_path


def test_what_is_written_is_loaded_in_order(experiment: Path) -> None:
    results = load(experiment)
    assert results.trials["trial"].tolist() == [0, 1, 2, 3]
    assert list(zip(results.reports["trial"], results.reports["update"], strict=True)) == [(0, 1), (0, 2), (1, 2)]
    assert results.evaluations.empty
    assert "score" in results.evaluations.columns
    assert results.skipped == ()


def test_the_best_is_the_complete_trial_with_the_highest_score(experiment: Path) -> None:
    assert load(experiment).best["trial"] == 1


def test_without_a_complete_trial_there_is_no_best(tmp_path: Path) -> None:
    write_part(part_path(tmp_path, "trials", 0), "trials", [trial(0, None, "running")], KINDS)
    with pytest.raises(ResultsError, match="no trial is complete"):
        _ = load(tmp_path).best


def test_hyperparameters_keep_their_types(experiment: Path) -> None:
    trials = load(experiment).trials
    assert pd.api.types.is_float_dtype(trials["hp_learning_rate"])
    assert pd.api.types.is_integer_dtype(trials["hp_batch_size"])
    assert pd.api.types.is_float_dtype(trials["hp_target_kl"])
    assert trials["hp_activation"].tolist() == ["relu"] * 4
    assert "used_batch_size" in trials.columns


@pytest.mark.parametrize("damage", ["cut", "empty", "other"])
def test_a_damaged_part_is_named_and_skipped(experiment: Path, damage: str) -> None:
    path = part_path(experiment, "trials", 1)
    content = path.read_bytes()
    path.write_bytes({"cut": content[: len(content) // 2], "empty": b"", "other": b"PAR1 not parquet PAR1"}[damage])
    with pytest.warns(UserWarning, match="00001.parquet"):
        results = load(experiment)
    assert results.skipped == (path,)
    assert results.trials["trial"].tolist() == [0, 2, 3]


def test_a_part_of_a_newer_version_is_named_and_skipped(experiment: Path) -> None:
    path = part_path(experiment, "trials", 1)
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({"schema_version": str(SCHEMA_VERSION + 1)}), path)
    with pytest.warns(UserWarning, match="update the package"):
        assert len(load(experiment).trials) == 3


def test_a_part_that_is_being_written_is_not_there_yet(experiment: Path) -> None:
    (part_path(experiment, "trials", 9).with_suffix(".new")).write_bytes(b"half")
    assert len(load(experiment).trials) == 4


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


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="no results in"):
        load(tmp_path / "nowhere")


@pytest.mark.parametrize("table", TABLES)
def test_every_column_has_a_unit_and_a_meaning(table: str) -> None:
    columns = schema(table, KINDS if table == "trials" else None)
    assert columns.metadata[b"schema_version"] == str(SCHEMA_VERSION).encode()
    for field in columns:
        assert b"unit" in field.metadata
        assert field.metadata[b"meaning"]


def test_states_are_those_of_the_vocabulary() -> None:
    assert STATES == ("running", "complete", "pruned", "oom", "failed")
