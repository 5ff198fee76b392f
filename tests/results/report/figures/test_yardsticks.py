"""How much of what is possible the best policy reaches."""

from pathlib import Path

from results.analysis.yardsticks import yardstick_lines
from results.report.figures.yardsticks import figure
from results.report.subjects import Search
from tests.results import made
from tests.results.analysis.test_yardsticks import controllers, planned, plans, searched  # noqa: F401 - a fixture


def test_bars_are_of_all_that_stands_beside_and_the_answer_is_that_of_the_terminal(tmp_path: Path) -> None:
    results = searched(tmp_path, [planned(0, 0.05, 0.05), made.row(1, 0.03)], controllers())
    shown = figure(Search(results))
    assert shown
    assert shown.answer == " ".join(yardstick_lines(results))
    (panel,) = shown.panels
    names = [row["name"] for row in panel.spec["layer"][0]["data"]["values"]]
    assert names[0] == "uncontrolled"
    assert names[-1] == "bound of score"
    assert "plan of trial 0 alone" in names


def test_what_is_aimed_at_stands_in_the_table_with_its_unit_and_time(tmp_path: Path) -> None:
    made.settle(tmp_path, objective="co2_kg")
    rows = [{**row, "co2_kg": 7.0} for row in controllers()]
    shown = figure(Search(searched(tmp_path, [made.row(0, 0.05)], rows)))
    assert shown
    assert "co2_kg, kg, a year of 8,760 h" in shown.table
    assert "co2_kg" not in " ".join(figure(Search(searched(tmp_path / "score", [made.row(0, 0.05)], rows))).table)  # type: ignore[union-attr]


def test_a_controller_that_misses_a_requirement_is_named_and_of_others_nothing_is_said(tmp_path: Path) -> None:
    made.settle(tmp_path, require=["ev_served>=0.9"])
    rows = [{**row, "ev_served": 0.5 if row["contender"].startswith("MPC: learned") else 0.95} for row in controllers()]
    shown = figure(Search(searched(tmp_path, [made.row(0, 0.05)], rows)))
    assert shown
    assert shown.note.endswith(" What a winner has to meet is missed by MPC: learned forecast.")
    assert "misses" not in shown.table


def test_without_yardsticks_there_is_no_figure_but_what_a_plan_alone_does_is_said(tmp_path: Path) -> None:
    assert figure(Search(searched(tmp_path, [made.row(0, 0.09)], []))) is None
    said = figure(Search(searched(tmp_path, [planned(0, 0.05, 0.05)], [])))
    assert said
    assert "adds nothing" in said.answer
    assert said.panels == ()
