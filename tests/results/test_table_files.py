"""A file of a table is rewritten whole, read as it was written, or named with the reason why it is not used."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from common.measure import Measure
from results import load
from results.schema import FINGERPRINT, SCHEMA_VERSION, measures_of
from results.table_files import (
    ResultsError,
    add_rows,
    drop_rows_after,
    judged_path,
    read_file,
    read_rows,
    read_table,
    rows_path,
    write_file,
    write_rows,
)

ROW = {"trial": 3, "state": "complete", "score": 0.5}


def reports(*steps: int, trial: int = 3) -> list[dict[str, Any]]:
    return [{"trial": trial, "update": own // 100, "steps": own} for own in steps]


def steps_of(folder: Path) -> list[int]:
    return [row["steps"] for row in read_rows(folder, "reports", 3)]


def test_rows_are_added_at_the_end_and_those_beyond_some_steps_are_dropped(tmp_path: Path) -> None:
    assert read_rows(tmp_path, "reports", 3) == []
    assert not drop_rows_after(tmp_path, "reports", 3, 0)
    path = write_rows(tmp_path, "reports", 3, reports(100))
    assert path == tmp_path / "results" / "reports" / "00003.parquet"
    assert add_rows(tmp_path, "reports", 3, reports(200, 300)) == path
    add_rows(tmp_path, "reports", 4, reports(300, trial=4))
    assert steps_of(tmp_path) == [100, 200, 300]
    assert drop_rows_after(tmp_path, "reports", 3, 200)
    assert not drop_rows_after(tmp_path, "reports", 3, 200)
    assert steps_of(tmp_path) == [100, 200]
    assert len(read_rows(tmp_path, "reports", 4)) == 1
    assert drop_rows_after(tmp_path, "reports", 3, -1)
    assert steps_of(tmp_path) == []
    add_rows(tmp_path, "reports", 3, reports(100))
    assert steps_of(tmp_path) == [100]


def test_a_file_has_the_version_units_and_meanings(tmp_path: Path) -> None:
    cost = Measure("cost", "currency", "of energy")
    for number in (1, 2):
        path = add_rows(tmp_path, "evaluations", 0, [{"trial": 0, "steps": number, "year": 1}], measures={"cost": cost})
    columns = pq.read_schema(path)
    assert columns.metadata[b"schema_version"] == str(SCHEMA_VERSION).encode()
    assert measures_of(columns)["cost"] == cost


def test_a_column_that_the_schema_does_not_know_is_an_error_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="scroe"):
        add_rows(tmp_path, "reports", 0, [{"trial": 0, "scroe": 1.0}])
    assert not rows_path(tmp_path, "reports", 0).exists()


def test_a_damaged_file_is_not_written_over_by_what_adds_or_drops(tmp_path: Path) -> None:
    path = write_rows(tmp_path, "reports", 3, reports(100))
    path.write_bytes(b"PAR1")
    rows = write_rows(tmp_path, "trials", 3, [ROW])
    rows.write_bytes(b"PAR1")
    for change in (
        lambda: add_rows(tmp_path, "reports", 3, reports(200)),
        lambda: drop_rows_after(tmp_path, "reports", 3, 0),
        lambda: write_rows(tmp_path, "trials", 4, [{**ROW, "trial": 4}]),
    ):
        with pytest.raises(ResultsError, match=r"0000[03]\.parquet cannot be used"):
            change()
    assert path.read_bytes() == rows.read_bytes() == b"PAR1"


def test_a_file_that_is_being_written_is_not_there_yet(experiment: Path) -> None:
    (rows_path(experiment, "trials", 9).with_suffix(".new")).write_bytes(b"half")
    assert len(load(experiment).trials) == 4


def test_a_flipped_byte_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    """Arrow's checksums cover the values, that of the columns the rest: no other number is read."""
    path = write_rows(tmp_path, "trials", 3, [ROW])
    before, content = read_file(path), path.read_bytes()
    noticed = 0
    for place in range(0, len(content), 61):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        part = read_table(path)
        if isinstance(part, str):
            noticed += 1
        else:
            assert part.to_pylist() == before, place
    assert noticed > 50


def test_columns_that_were_changed_with_their_types_are_noticed(tmp_path: Path) -> None:
    path = write_rows(tmp_path, "trials", 3, [ROW])
    table = pq.read_table(path, partitioning=None)
    assert FINGERPRINT.encode() in table.schema.metadata
    pq.write_table(table.drop_columns(["git_commit"]), path)
    with pytest.raises(ResultsError, match=r"00000\.parquet cannot be used: its columns have changed"):
        read_file(path)


@pytest.mark.parametrize(
    ("name", "rows", "message"),
    [
        ("trials/00100", [ROW], "it holds trial 3, which is of another file"),
        ("trials/00000", [ROW, ROW], "it holds a trial twice"),
        ("trials/00000", [{**ROW, "trial": None}], "column trial is empty in a row"),
        ("trials/00000", [{**ROW, "state": "done"}], "column state holds 'done', which is no state"),
        (
            "trials/00000",
            [{**ROW, "started": datetime(9999, 1, 1, tzinfo=UTC)}],
            "column started holds a time that no clock shows",
        ),
        ("reports/00003", [{"trial": 3, "update": 1, "time": datetime(1, 1, 1, tzinfo=UTC)}], "column time holds a time that"),
        ("reports/00004", [{"trial": 3, "update": 1, "steps": 65}], "it holds trial 3, which is of another file"),
        ("reports/00003-1", [{"trial": 3, "update": 1, "steps": 65}], "its name is none of this table"),
        ("evaluations/a-000-citylearn", [{"year": 1, "backend": "batch"}], "it was evaluated by batch, not citylearn"),
        ("evaluations/a-000-batch", [{"year": 1, "contender": "bound of co2"}], "it is of run None, not 0"),
        ("evaluations/baselines-batch", [{"year": 1, "contender": "a", "trial": 0}], "it is of run 0, not None"),
        ("evaluations/baselines-batch", [{"year": 1, "contender": "bound of co2"}], "it is of bound of co2"),
        ("evaluations/bounds-batch", [{"year": 1, "contender": "rules"}], "it is of rules"),
    ],
)
def test_a_file_that_contradicts_its_name_or_itself_is_noticed(
    tmp_path: Path, name: str, rows: list[dict[str, object]], message: str
) -> None:
    path = tmp_path / "results" / f"{name}.parquet"
    write_file(path, rows)
    assert message in str(read_table(path))


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"PAR1" * 10, None])
def test_what_is_no_file_of_a_table_is_one_error(tmp_path: Path, damage: bytes | None) -> None:
    path = judged_path(tmp_path, "a-000", "batch")
    write_file(path, [{"year": 1, "trial": 0}])
    if damage is None:
        inner = path.rename(path.with_name("b"))
        path.mkdir()
        inner.rename(path / path.name)
    else:
        path.write_bytes(damage)
    with pytest.raises(ResultsError, match=r"a-000-batch\.parquet cannot be used: ") as refused:
        read_file(path)
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith(": restore the file from a copy")


@pytest.mark.parametrize("version", [None, "0", str(SCHEMA_VERSION + 1)])
def test_a_file_of_another_version_is_refused(tmp_path: Path, version: str | None) -> None:
    path = write_rows(tmp_path, "trials", 3, [ROW])
    pq.write_table(pq.read_table(path).replace_schema_metadata(version and {"schema_version": version}), path)
    assert read_table(path) == (
        f"its schema version is {str(version).lower()}, and this package reads {SCHEMA_VERSION}: use the version that wrote it"
    )


def test_a_hundred_trials_share_a_file_of_trials(tmp_path: Path) -> None:
    for number in (7, 101, 3, 99):
        write_rows(tmp_path, "trials", number, [{**ROW, "trial": number}])
    path = write_rows(tmp_path, "trials", 7, [{**ROW, "trial": 7, "score": 0.7, "hp_gamma": 0.9}], {"gamma": float})
    assert path == rows_path(tmp_path, "trials", 99) == tmp_path / "results" / "trials" / "00000.parquet"
    assert [row["trial"] for row in read_file(path)] == [3, 7, 99]
    assert [(row["score"], row["hp_gamma"]) for row in read_rows(tmp_path, "trials", 7)] == [(0.7, 0.9)]
    assert (read_rows(tmp_path, "trials", 8), read_rows(tmp_path, "trials", 200)) == ([], [])
    assert len(read_file(rows_path(tmp_path, "trials", 101))) == 1


def test_a_file_that_would_fill_the_memory_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = rows_path(tmp_path, "reports", 3)
    path.parent.mkdir(parents=True)
    numbers = pa.array([3], pa.int64()).take(pa.array([0] * 1_000_000, pa.int8()))
    names = ["trial", "update", "steps", *(f"column {index}" for index in range(98))]
    version = {"schema_version": str(SCHEMA_VERSION)}
    pq.write_table(pa.table(dict.fromkeys(names, numbers)).replace_schema_metadata(version), path)
    assert path.stat().st_size < 500_000
    assert read_table(path) == (
        "it holds 101,000,000 values, more than the 100,000,000 that are read: restore the file from a copy"
    )
    few = pa.table({name: [3] * 10_000 for name in names[:3]}).replace_schema_metadata(version)
    pq.write_table(few, path, compression="zstd", use_dictionary=False)
    monkeypatch.setattr("results.table_files.MOST_BYTES", 50_000)
    assert path.stat().st_size < 50_000
    assert "more than the 50,000 that are read" in str(read_table(path))
