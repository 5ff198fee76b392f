"""Values of a file are corrected one by one, and what was found is told by kind."""

from pathlib import Path

import numpy as np
import pandas as pd

from envs.scenarios.conversion.cells import Cells, Found, told


def test_all_but_what_is_put_stays_as_it_is_written(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("x,y\n1.10,a\n,0.30000000000000004\n007,NA\n", encoding="utf-8")
    cells = Cells(file, 3)
    assert np.array_equal(cells.numbers("x"), [1.1, np.nan, 7.0], equal_nan=True)
    assert cells.text("y").tolist() == ["a", "0.30000000000000004", "NA"]
    cells.put("x", np.array([False, True, False]), [0.76 / 2 * 2])
    cells.write(tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text(encoding="utf-8") == "x,y\n1.10,a\n0.76,0.30000000000000004\n007,NA\n"
    assert cells.changed


def test_nothing_put_is_no_change_and_rows_that_do_not_count_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n,\n", encoding="utf-8")
    cells = Cells(tmp_path / "a.csv", 1)
    cells.put("x", np.array([False]), [])
    cells.cut(1)
    assert not cells.changed
    assert len(cells.frame) == 1


def test_parquet_stays_parquet(tmp_path: Path) -> None:
    pd.DataFrame({"hour": [0, 1], "name": ["a", None]}).to_parquet(tmp_path / "a.parquet")
    cells = Cells(tmp_path / "a.parquet", 2)
    assert cells.text("name").tolist() == ["a", ""]
    cells.put("hour", np.array([True, False]), [24])
    cells.write(tmp_path / "b.parquet")
    assert pd.read_parquet(tmp_path / "b.parquet")["hour"].tolist() == [24, 1]


def test_a_kind_is_told_once_with_the_lines_of_each_file() -> None:
    found = [
        Found("a.csv", "hour", (2,), "0", "now 24"),
        Found("b.csv", "hour", (2,), "0", "now 24"),
        Found("c.csv", "hour", tuple(range(2, 1202)), "0", "now 24"),
        Found("schema.json", "actions.x", (), "unknown", "left out"),
    ]
    assert told(found) == [
        "hour: 0; now 24 (line 2 of a.csv, b.csv; 1,200 lines, 2, 3, 4, ..., of c.csv)",
        "actions.x: unknown; left out (schema.json)",
    ]
