"""The hardest week."""

from results.report.figures.week import hardest_week
from tests.results.report.made import hours


def test_the_hardest_week_has_the_highest_uncontrolled_import_and_is_whole() -> None:
    frame = hours(30)
    frame.loc[24 * 15, "uncontrolled_net_kwh"] = 99.0
    week = hardest_week(frame)
    assert (len(week), week["step"].iloc[0]) == (168, 24 * 14)
    assert len(hardest_week(hours(3))) == 72
