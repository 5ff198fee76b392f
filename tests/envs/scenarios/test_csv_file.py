"""CSV of other programs is read as it is meant, or refused with what to change; no number is read as another one."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from envs.scenarios import csv_file
from envs.scenarios.csv_file import read_table

KNOWN = ("load", "price")


def read(tmp_path: Path, content: bytes | str, name: str = "series.csv") -> pd.DataFrame | str:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path, KNOWN)


@pytest.mark.parametrize(
    "content",
    [
        "load,price\n1.5,2\n-3,4\n",
        "\ufeffload,price\n1.5,2\n-3,4\n",
        '"load","price"\n"1.5","2"\n"-3","4"\n',
        "load,price\n 1.5, 2\n -3, 4\n\n\n",
    ],
)
def test_what_citylearn_reads_too_is_read(tmp_path: Path, content: str) -> None:
    table = read(tmp_path, content)
    assert isinstance(table, pd.DataFrame)
    assert list(table) == list(KNOWN)
    assert table.to_numpy().tolist() == [[1.5, 2.0], [-3.0, 4.0]]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("load;price\n1,5;2,0\n", "has semicolons between its values"),
        ("\ufeffload;price\n1,5;2,0\n", "has semicolons between its values"),
        ("load\tprice\n1.5\t2\n", "has tabs between its values"),
        ("load, price\n1.5,2\n", "has spaces around the column ' price'"),
        ("load,load\n1,2\n", "has the column 'load' twice"),
        ("load,price\n1,5,2,0\n", "more values than line 1 has names"),
        ("load\n1,5\n", "more values than line 1 has names"),
        ("load,price\n1,2\n1,2,3\n", "Expected 2 fields in line 3, saw 3"),
        ("load,price\n1,2\n".encode("utf-16"), "is UTF-16"),
        (b"PK\x03\x04\x14\x00", "is a workbook"),
        (b"load,price\n\xff,1\n", "cannot be read: 'utf-8' codec can't decode"),
        (b"", "cannot be read"),
    ],
)
def test_what_citylearn_would_misread_is_refused_with_the_remedy(tmp_path: Path, content: str | bytes, fault: str) -> None:
    found = read(tmp_path, content)
    assert isinstance(found, str)
    assert found.startswith(str(tmp_path / "series.csv"))
    assert fault in found
    assert "\n" not in found


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not parquet at all"])
def test_a_damaged_parquet_file_is_refused(tmp_path: Path, content: bytes) -> None:
    found = read(tmp_path, content, "series.parquet")
    assert isinstance(found, str)
    assert "cannot be read" in found


@pytest.mark.parametrize(
    "described",
    [
        b"{}", b"[]", b"5", b"x", b'{"index_columns": ["away"], "columns": [], "column_indexes": []}', b"[" * 100_000,
        b'{"index_columns": [], "columns": [], "column_indexes": [{"name": null, "field_name": null, "numpy_type": "x"}]}',
    ],
    ids=["object", "list", "number", "text", "index", "deep", "type"],
)  # fmt: skip
def test_a_wrong_description_of_pandas_in_parquet_is_one_line(tmp_path: Path, described: bytes) -> None:
    path = tmp_path / "series.parquet"
    pq.write_table(pa.table({"load": [1.0]}).replace_schema_metadata({b"pandas": described}), path)
    found = read_table(path, KNOWN)
    assert isinstance(found, str)
    assert found.startswith(f"{path} cannot be read")
    assert "\n" not in found


def test_parquet_that_unpacks_to_more_than_memory_has_is_refused_by_its_footer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flat = tmp_path / "flat.parquet"
    pq.write_table(pa.table({"load": np.zeros(1000), "price": np.zeros(1000)}), flat)
    assert isinstance(read_table(flat, KNOWN), pd.DataFrame)
    monkeypatch.setattr(pd, "read_parquet", None)
    monkeypatch.setattr(csv_file, "MOST_VALUES", 1999)
    assert "has 2,000 values, and a series has at most 1,999; name the right file" in str(read_table(flat, KNOWN))
    monkeypatch.setattr(csv_file, "MOST_VALUES", 2000)
    pq.write_table(pa.table({"load": np.zeros(2000)}), flat, compression="zstd", use_dictionary=False)
    monkeypatch.setattr(csv_file, "MOST_BYTES", 10_000)
    assert flat.stat().st_size < csv_file.MOST_BYTES
    assert "unpacks to more than" in str(read_table(flat, KNOWN))


def test_many_columns_are_compared_at_once(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(100_000)]
    found = read(tmp_path, ",".join([*names, "c7"]) + "\n")
    assert "has the column 'c7' twice" in str(found)


def test_a_folder_and_a_huge_file_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "cannot be read" in str(read_table(tmp_path, KNOWN))
    monkeypatch.setattr(csv_file, "MOST_BYTES", 10)
    assert "more than" in str(read(tmp_path, "load,price\n1,2\n"))


def test_text_columns_keep_what_is_no_whole_number(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("load\n1\n\n2\n", encoding="utf-8")
    table = read_table(tmp_path / "a.csv", KNOWN, text=("load",))
    assert isinstance(table, pd.DataFrame)
    assert table["load"].tolist()[::2] == ["1", "2"]
