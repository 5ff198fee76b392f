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


def test_without_yardsticks_there_is_no_figure_but_what_a_plan_alone_does_is_said(tmp_path: Path) -> None:
    assert figure(Search(searched(tmp_path, [made.row(0, 0.09)], []))) is None
    said = figure(Search(searched(tmp_path, [planned(0, 0.05, 0.05)], [])))
    assert said
    assert "adds nothing" in said.answer
    assert said.panels == ()
