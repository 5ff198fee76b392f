"""The hardest week."""

from pathlib import Path

from results.places import ROLLOUTS, WEEK_OF_BEST
from results.report.figures.week import figure, hardest_week
from results.report.figures.week import week as figure_of
from results.report.subjects import Search
from results.rollout import table
from results.table_files import write_parquet
from tests.results import made
from tests.results.report.made import hours


def test_the_hardest_week_has_the_highest_uncontrolled_import_and_is_whole() -> None:
    frame = hours(30)
    frame.loc[24 * 15, "uncontrolled_net_kwh"] = 99.0
    week = hardest_week(frame)
    assert (len(week), week["step"].iloc[0]) == (168, 24 * 14)
    assert len(hardest_week(hours(3))) == 72


def test_what_is_shorter_than_a_week_is_called_none() -> None:
    for days, span in ((1, "day"), (3, "3 days"), (8, "week")):
        shown = figure_of(hours(days))
        assert shown.question == f"What does the policy do in the hardest {span}?"
        assert shown.note.startswith(f"The {span} in which the uncontrolled site")


def test_the_winners_week_stands_beside_other_controllers_as_long_as_it_is_the_winners(tmp_path: Path) -> None:
    search = made.search(tmp_path, 6)
    best = int(search.best["trial"])
    assert figure(Search(search)) is None
    for number, is_shown in ((best + 1, False), (best, True)):
        week = hours(7).assign(mpc_net_kwh=1.0, bound_net_kwh=0.5)
        content = table({name: week[name].to_numpy() for name in week}, {"trial": str(number)})
        write_parquet(tmp_path / ROLLOUTS / WEEK_OF_BEST, content)
        shown = figure(Search(search))
        assert bool(shown) == is_shown
    assert shown
    assert shown.question == f"What does trial {best} do in the hardest week?"
    assert (
        "For comparison: MPC 168 kWh with at most 1.00 kW and perfect foresight 84.0 kWh with at most 0.500 kW." in shown.answer
    )
    alike = week.assign(net_kwh=week["uncontrolled_net_kwh"])
    assert "; its highest hour is 10.0 kW, as without." in figure_of(alike).answer
    assert {row["name"] for row in shown.panels[0].spec["layer"][0]["data"]["values"]} >= {"MPC", "perfect foresight"}
