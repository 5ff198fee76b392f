"""Tables of a section, each computed once."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from results import analysis
from results.report.subjects import Judged, Search, read_rollout
from results.table_files import ResultsError
from tests.results import made
from tests.results.report.made import rolled


def test_a_table_is_computed_once(tmp_path: Path) -> None:
    search = Search(made.search(tmp_path, 3))
    assert search.table(analysis.leaderboard) is search.table(analysis.leaderboard)
    assert search.aims == ("score",)


def test_where_nothing_was_judged_there_is_no_verdict(tmp_path: Path) -> None:
    judged = Judged(made.tables(tmp_path, []), ())
    assert (judged.verdict, judged.lucky) == (None, None)


def test_a_rollout_is_read_with_its_facts(tmp_path: Path) -> None:
    found = read_rollout(rolled(tmp_path / "a.parquet"))
    assert (found.about["trial"], len(found.table)) == ("1", 48)


def test_other_files_are_refused_by_one_line_with_the_remedy(tmp_path: Path) -> None:
    path = rolled(tmp_path / "a.parquet")
    pq.write_table(pq.read_table(path).drop_columns(["price"]), tmp_path / "b.parquet")
    (tmp_path / "c.parquet").write_bytes(b"PAR1 no table")
    with pytest.raises(
        ResultsError, match=r"b\.parquet: it lacks the column price: give a file that python -m tuning\.rollout"
    ):
        read_rollout(tmp_path / "b.parquet")
    with pytest.raises(ResultsError, match=r"c\.parquet: .*: give a file that python -m tuning\.rollout wrote, or the folder"):
        read_rollout(tmp_path / "c.parquet")
