"""Tables of a section, each computed once."""

from pathlib import Path

from results import analysis
from results.report.subjects import Judged, Search
from tests.results import made


def test_a_table_is_computed_once(tmp_path: Path) -> None:
    search = Search(made.search(tmp_path, 3))
    assert search.table(analysis.leaderboard) is search.table(analysis.leaderboard)
    assert (search.rated, search.aims) == (3, ("score",))


def test_where_nothing_was_judged_there_is_no_verdict(tmp_path: Path) -> None:
    judged = Judged(made.tables(tmp_path, []), ())
    assert (judged.verdict, judged.terms, judged.lucky, judged.ranked) == (None, None, None, [])
