"""A part file is read as it was written, or named with the reason why it is not used."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from results.parts import ResultsError, read_part, read_table
from results.schema import FINGERPRINT
from results.writer import judged_path, part_path, write_part

ROW = {"trial": 3, "state": "complete", "score": 0.5}


def test_a_flipped_byte_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    """Arrow's checksums cover the values, that of the columns the rest: no other number is read."""
    path = part_path(tmp_path, "trials", 3)
    write_part(path, "trials", [ROW])
    before, content = read_part(path), path.read_bytes()
    noticed = 0
    for place in range(0, len(content), 61):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        part = read_table(path, "trials")
        if isinstance(part, str):
            noticed += 1
        else:
            assert part.to_pylist() == before, place
    assert noticed > 50


def test_columns_that_were_changed_with_their_types_are_noticed(tmp_path: Path) -> None:
    path = part_path(tmp_path, "trials", 3)
    write_part(path, "trials", [ROW])
    table = pq.read_table(path, partitioning=None)
    assert FINGERPRINT.encode() in table.schema.metadata
    pq.write_table(table.drop_columns(["git_commit"]), path)
    with pytest.raises(ResultsError, match=r"00003\.parquet cannot be used: its columns have changed"):
        read_part(path)


@pytest.mark.parametrize(
    ("name", "rows", "message"),
    [
        ("trials/00004", [ROW], "it holds trial 3, not 4"),
        ("trials/00003", [ROW, ROW], "it holds 2 rows, not 1"),
        ("trials/00003", [], "it holds 0 rows, not 1"),
        ("reports/00003-000000000064", [{"trial": 3, "update": 1, "steps": 65}], "it ends at 65 steps, not 64"),
        ("evaluations/a-000-citylearn", [{"year": 1, "backend": "batch"}], "it was evaluated by batch, not citylearn"),
        ("evaluations/a-000-batch", [{"year": 1, "contender": "bound of co2"}], "it is of run None, not 0"),
        ("evaluations/baselines-batch", [{"year": 1, "contender": "a", "trial": 0}], "it is of run 0, not None"),
        ("evaluations/baselines-batch", [{"year": 1, "contender": "bound of co2"}], "it is of bound of co2"),
        ("evaluations/bounds-batch", [{"year": 1, "contender": "rules"}], "it is of rules"),
    ],
)
def test_a_part_that_was_copied_from_another_is_noticed(
    tmp_path: Path, name: str, rows: list[dict[str, object]], message: str
) -> None:
    path = tmp_path / "results" / f"{name}.parquet"
    write_part(path, path.parent.name, rows)
    assert message in str(read_table(path, path.parent.name))


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"PAR1" * 10, None])
def test_what_is_no_part_is_one_error(tmp_path: Path, damage: bytes | None) -> None:
    path = judged_path(tmp_path, "a-000", "batch")
    if damage is None:
        path.mkdir(parents=True)
    else:
        path.parent.mkdir(parents=True)
        path.write_bytes(damage)
    with pytest.raises(ResultsError, match=r"a-000-batch\.parquet cannot be used: ") as refused:
        read_part(path)
    assert "\n" not in str(refused.value)


def test_a_part_without_a_checksum_is_of_an_older_version_and_read(tmp_path: Path) -> None:
    path = part_path(tmp_path, "trials", 3)
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table({name: [value] for name, value in ROW.items()}), path)
    assert read_part(path) == [ROW]


def test_a_part_that_would_fill_the_memory_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = part_path(tmp_path, "evaluations", 3, 64)
    path.parent.mkdir(parents=True)
    numbers = pa.array([3], pa.int64()).take(pa.array([0] * 1_000_000, pa.int8()))
    table = pa.table({f"column {index}": numbers for index in range(101)})
    pq.write_table(table, path)
    assert path.stat().st_size < 500_000
    assert read_table(path, "evaluations") == (
        "it holds 101,000,000 values, more than the 100,000,000 that are read: restore the file from a copy"
    )
    pq.write_table(pa.table({"score": [0.0] * 10_000}), path, compression="zstd", use_dictionary=False)
    monkeypatch.setattr("results.parts.MOST_BYTES", 50_000)
    assert path.stat().st_size < 50_000
    assert "more than the 50,000 that are read" in str(read_table(path, "evaluations"))
