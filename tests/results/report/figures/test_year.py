"""Days and months of a year."""

from results.report.figures.year import by_month_and_hour
from tests.results.report.made import hours


def test_each_hour_of_a_month_has_its_change() -> None:
    change = by_month_and_hour(hours())
    assert len(change) == 48
    assert change["change_kw"].min() == -5.0
