"""Remaining headroom lies between the best controller without learning and the bound."""

from dataclasses import replace
from pathlib import Path

import pytest

from common.errors import UsageError
from common.measure import SERVED_BOUND
from envs.objective.aim import Aim
from envs.objective.evaluate import ValidityError
from envs.yardsticks.baselines import UNCONTROLLED
from results.judgement import EXACT_MPC
from tests.tuning.cli.printing import text_of
from tuning.cli.console import Fitted
from tuning.judging import headroom
from tuning.judging.headroom import Row, best_of, find_headroom, remaining, row_of, tables
from tuning.judging.settings import HeadroomSettings


def row(name: str, score: float | None, co2: float, cost: float) -> Row:
    return Row(name, score, co2, cost, None, None)


BEFORE = row(UNCONTROLLED, 0.0, 100.0, 200.0)
RULE = row("rule: any", 0.05, 93.0, 180.0)


def bounds(score: float, co2: float, cost: float) -> list[Row]:
    return [row("bound of score", score, 0.0, 0.0), row("bound of co2", 0.0, co2, 0.0), row("bound of cost", 0.0, 0.0, cost)]


def test_remaining_headroom_is_told_for_each_objective() -> None:
    score, co2, cost = remaining([BEFORE, RULE, *bounds(0.08, 92.9, 170.0)], BEFORE)
    assert "remaining headroom: +0.0300" in score
    assert "-7.0%" in co2
    assert "negligible" in co2
    assert "remaining headroom: 5.0%" in cost


def test_a_bound_that_leaves_vehicles_empty_is_told_so() -> None:
    before = replace(BEFORE, served=0.9)
    limit, *others = bounds(0.08, 92.9, 170.0)
    for served, told in ((0.2, True), (0.86, False)):
        score, *_ = remaining([before, RULE, replace(limit, served=served), *others], before)
        assert (f"which serves {served:.1%} of the vehicle energy" in score) is told


def test_what_a_bound_serves_is_told() -> None:
    before, (limit, *others) = replace(BEFORE, served=0.9), bounds(0.08, 92.9, 170.0)
    score, co2, bill = remaining([before, RULE, limit, replace(limit, name=SERVED_BOUND), *others], before)
    assert "no policy that serves 95% of the vehicle energy more than +0.0800" in score
    assert "no policy that serves every vehicle more than -7.1%" in co2
    assert "no policy that serves every vehicle more than -15.0%" in bill


@pytest.mark.parametrize(
    "other",
    [None, row("rule: worse than nothing", -0.03, 110.0, 210.0), row("no PV, no battery, so another site", None, 10.0, 10.0)],
)
def test_without_a_better_rule_the_uncontrolled_site_is_what_there_is(other: Row | None) -> None:
    lines = remaining([BEFORE, *filter(None, [other]), *bounds(0.002, 99.9, 199.9)], BEFORE)
    assert "the best controller without learning reaches +0.0000 (uncontrolled)" in lines[0]
    for line in lines:
        assert "negligible" in line
        assert "uncontrolled" in line


def test_citylearns_controllers_count_if_they_serve_the_vehicles() -> None:
    years = [{"hours": 10, "score": 0.07, "co2_kg": 90.0, "bill": 171.0, "ev_required_kwh": 5.0, "ev_served": 0.3,
              "uncontrolled_ev_required_kwh": 5.0, "uncontrolled_ev_served": 0.9}]  # fmt: skip
    thief = row_of("CityLearn: b", years)
    assert thief.misses
    served = row_of("CityLearn: a", [{**years[0], "ev_served": 0.86}])
    assert not served.misses
    rows = [BEFORE, replace(served, score=0.06, co2_kg=92.0, cost=178.0), thief]
    score, co2, cost = remaining([*rows, *bounds(0.08, 90.0, 170.0)], BEFORE)
    for line, gives in ((score, "+0.0600"), (co2, "-8.0%"), (cost, "-11.0%")):
        assert f"reaches {gives} (CityLearn: a)" in line


def test_a_controller_at_whose_cost_people_are_is_no_rival_and_a_column_says_what_they_feel() -> None:
    years = [{"hours": 10, "score": 0.07, "co2_kg": 90.0, "bill": 171.0, "occupied_hours": 5.0, "discomfort": 0.3,
              "unmet_degree_hours": 20.0, "uncontrolled_occupied_hours": 5.0, "uncontrolled_discomfort": 0.1}]  # fmt: skip
    hot, fair = row_of("CityLearn: b", years), row_of("CityLearn: a", [{**years[0], "score": 0.06, "discomfort": 0.12}])
    assert (hot.misses, fair.misses) == (True, False)
    assert "reaches +0.0600 (CityLearn: a)" in best_of([BEFORE, hot, fair], Aim())
    both = [table for rows in ([BEFORE, fair], [BEFORE]) for table in tables("a site", rows, BEFORE)]
    assert [table.columns[-1].header for table in both] == ["discomfort", "unmet comfort, degree h", "score", "change"]
    assert [*both[1].columns[-1].cells] == ["", "17,520"], "of a year"


def test_tables_leave_out_what_a_site_does_not_have() -> None:
    years = [{"hours": 10, "score": 0.07, "co2_kg": 0.0, "bill": 171.0, "peak_kw": 3.0}]
    lone = row_of("uncontrolled", years)
    shown = [[str(column.header) for column in table.columns] for table in tables("a site", [lone], lone)]
    assert shown == [["", "score"], ["", "bill, thousand", "change", "peak, kW"]]


def test_a_controller_with_forecasts_is_the_rival_and_one_that_knows_the_future_is_not() -> None:
    forecast, future = row("MPC: learned forecast", 0.06, 92.0, 175.0), row(EXACT_MPC, 0.07, 91.0, 172.0)
    lines = remaining([BEFORE, RULE, forecast, future, *bounds(0.08, 90.0, 170.0)], BEFORE)
    for line in lines:
        assert "(MPC: learned forecast)" in line
        assert EXACT_MPC not in line


@pytest.mark.parametrize(
    ("co2", "cost", "shown"),
    [
        (3_028_557.0, 4_044_713.0, ("3,029", "4,045", "CO2, t", "bill, thousand")),
        (867.1, 1_611.6, ("867", "1,612", "CO2, kg", "bill")),
        (9_876_543_210.0, 98_765_432_109.0, ("9,877", "98,765", "CO2, kt", "bill, million")),
    ],
)
def test_figures_have_units_of_the_sites_size(co2: float, cost: float, shown: tuple[str, ...]) -> None:
    rows = [Row("rule", -0.0820, co2, cost, 2_990.0, 0.911)]
    parts = tables("iquitos, validation: 8,760 hours", rows, rows[0])
    text = text_of(lambda own: [own.print(Fitted(table)) for table in parts])
    for figure in (*shown, "-0.0820", "91.1%", "+0.0%", "2,990"):
        assert figure in text


def test_an_objective_without_a_bound_is_said_to_have_none_and_who_misses_a_requirement_does_not_count() -> None:
    aim = Aim.parse(objective="peak_kw", require=("ev_served>=0.9",))
    rows = [
        replace(BEFORE, objective=30.0),
        replace(RULE, objective=20.0),
        replace(row("rule: thief", 0.09, 80.0, 150.0), objective=10.0, misses=True),
        *bounds(0.1, 79.0, 149.0),
    ]
    line = best_of(rows, aim)
    assert line == ("peak_kw: the best controller without learning reaches 20.0 kW (rule: any); there is no bound of it")
    score, *_ = remaining(rows, BEFORE)
    assert "+0.0500 (rule: any)" in score
    nothing = [replace(own, misses=True) for own in rows[:2]]
    assert "no controller without learning meets" in best_of(nothing, aim)
    assert remaining([*nothing, *bounds(0.1, 79.0, 149.0)], BEFORE) == [
        "no controller without learning meets what is required, so the remaining headroom is not known"
    ]
    ratings, _ = tables("site", rows, BEFORE, aim)
    assert [str(column.header) for column in ratings.columns] == ["", "score", "peak, kW", "required"]
    assert list(ratings.columns[3].cells) == ["met", "met", "missed", "", "", ""]


def test_headroom_is_of_one_objective() -> None:
    with pytest.raises(UsageError, match="--objective 'co2 bill': headroom takes one"):
        find_headroom(HeadroomSettings(scenario="iquitos-38", objective="co2 bill"))


def test_a_controller_above_the_bound_stops(small_schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = headroom.baseline_rows
    monkeypatch.setattr(headroom, "baseline_rows", lambda *given: [{**own, "score": 9.0} for own in rows(*given)])
    with pytest.raises(ValidityError, match="above the bound"):
        find_headroom(HeadroomSettings(scenario=str(small_schema), mpc=("none",)))
