"""The tables have all figures, and their units fit the site."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from envs.objective.aim import Aim
from envs.objective.columns import measures
from envs.objective.evaluate import ValidityError
from envs.yardsticks.baselines import WITHOUT
from results.judgement import BOUND, judgement
from tests.results.analysis.test_judged import experiment
from tests.results.analysis.test_judged import judgement as judged
from tests.results.judged_rows import judged_frame, judged_row
from tests.tuning.cli.printing import text_of
from tuning.cli.console import Fitted
from tuning.judging.report import INTERVAL, _extent, check_amounts, check_scores, promised, ranking_of, tables

MALL = {
    "hours": 8760, "import_kwh": 6_114_171.0, "co2_kg": 2_764_217.0, "bill": 3.5e6, "pv_kwh": 8.1e6, "peak_kw": 2_624.0,
    "self_consumption": 0.798, "ev_served": 0.9, "uncontrolled_co2_kg": 1_500_000.0, "uncontrolled_bill": 4e6,
    "uncontrolled_ev_served": 0.9,
}  # fmt: skip


def row(contender: str, score: float, seed: int | None = None, **given: Any) -> dict[str, Any]:
    return judged_row(contender, score, seed, **{**MALL, **given})


def shown(**given: Any) -> str:
    rows = [row(BOUND, 0.0772, **given), row("rule", -0.07, **{"ev_served": 1 / 3, **given})]
    runs = (row("ppo default, 1,000,000 steps", 0.07 + seed / 1e4, seed, **given) for seed in range(3))
    found = judged_frame([*rows, *runs])
    parts = tables(judgement(found, measures()), "iquitos, test years 3")
    return text_of(lambda own: [own.print(Fitted(table)) for table in parts])


def test_every_figure_can_be_read() -> None:
    text = shown()
    for figure in (
        "+0.0701", "+0.0699 to +0.0703", "90.8%", "import, MWh", "6,114", "CO2, t", "2,764", "+84.28%", "-12.50%", "2,624",
        "79.8%", "100.0%",
    ):  # fmt: skip
        assert figure in text, figure
    assert "*" in text


def test_figures_of_small_homes_have_their_units() -> None:
    text = shown(import_kwh=25_312.0, co2_kg=4_012.0, peak_kw=7.351, uncontrolled_co2_kg=4_500.0)
    for figure in ("import, kWh", "25,312", "CO2, kg", "4,012", "peak, kW", "7.35"):
        assert figure in text


def test_what_is_aimed_at_stands_before_the_score_with_its_interval() -> None:
    found = judged_frame([row("rule", 0.01), *(row("ppo", 0.07, seed, peak_kw=2e3 + seed) for seed in range(3))])
    ranking = ranking_of(Aim.parse(objective="peak_kw"), found, measures())
    ratings, _ = tables(judgement(found, measures(), ranking), "a site", ranking)
    assert [str(column.header) for column in ratings.columns[:6]] == ["", "runs", "peak, kW", INTERVAL, "score", INTERVAL]
    assert [next(iter(column.cells)) for column in ratings.columns[:4]] == ["ppo", "3", "2,001", "1,999 to 2,003"]
    paid = ranking_of(Aim.parse(objective="bill"), found, measures("EUR"))
    assert str(tables(judgement(found, measures("EUR"), paid), "a site", paid)[0].columns[2].header) == "bill, thousand EUR"


def test_a_heading_names_years_but_not_ranges() -> None:
    assert _extent(pd.Series([8760, 8760], index=[3, 6]), has_years=True) == "test years 3, 6; amounts of a year of 8,760 h"
    stated = _extent(pd.Series([2999], index=[7]), has_years=False)
    assert stated == "test, 2,999 hours; amounts of a year of 8,760 h"


def rated(contender: str, score: float, year: int = 3, **given: Any) -> dict[str, Any]:
    """A row that serves 76 of 80 kWh."""
    amounts = {"co2_kg": 100.0, "bill": 50.0, "uncontrolled_co2_kg": 120.0, "uncontrolled_bill": 60.0}
    return row(contender, score, **{"year": year, "ev_required_kwh": 80.0, "ev_missing_kwh": 4.0, **amounts, **given})


LIMITS = [
    rated(BOUND, 0.07, ev_missing_kwh=9.0),
    rated("bound of co2", 0.05, bill=55.0),
    rated("bound of cost", 0.05, co2_kg=110.0),
]


def test_what_the_search_had_said_stands_beside_what_was_judged(tmp_path: Path) -> None:
    assert promised(experiment(tmp_path), judged(tmp_path)) == [
        f"{tmp_path.name} 1: score +0.4000 after 4,000 steps of its search, +0.2100 on the test with fresh seeds",
        "ppo default, 4,000 steps: score +0.1500 after 4,000 steps of its search, +0.1100 on the test with fresh seeds",
    ]


def test_where_a_search_lost_how_many_steps_a_trial_had_only_its_score_is_told(tmp_path: Path) -> None:
    search = experiment(tmp_path)
    search.trials["kept_steps"] = [np.nan, *search.trials["kept_steps"].iloc[1:]]
    told = promised(search, judged(tmp_path))
    assert sorted(line.partition("score ")[2].partition(" its")[0].partition(" ")[2] for line in told) == [
        "after 4,000 steps of", "in",
    ]  # fmt: skip


def test_a_score_above_the_bound_stops_with_the_numbers() -> None:
    rows = [*LIMITS, rated("rule", 0.06), rated("rule", 0.08, year=6), rated(WITHOUT, float("nan"))]
    check_scores(pd.DataFrame(rows))
    with pytest.raises(ValidityError, match=r"too good, year 3: a score of \+0\.075"):
        check_scores(pd.DataFrame([*rows, rated("too good", 0.075)]))


@pytest.mark.parametrize("score", [float("nan"), float("-inf")])
def test_a_contender_without_a_score_stops_it(score: float) -> None:
    with pytest.raises(ValidityError, match=r"ppo 0, year 6: a score of .* is no number"):
        check_scores(pd.DataFrame([*LIMITS, rated("ppo 0", score, year=6, algorithm="ppo")]))


@pytest.mark.parametrize(
    ("amount", "message"),
    [("co2_kg", r"ppo 0, year 3: an emission of 99\.900 kg is below"), ("bill", r"ppo 0, year 3: a bill of 49\.900 is below")],
)
def test_an_amount_below_its_bound_stops_with_the_numbers(amount: str, message: str) -> None:
    limit = 100.0 if amount == "co2_kg" else 50.0
    check_amounts(pd.DataFrame([*LIMITS, rated("ppo 0", 0.06, **{amount: limit * (1.0 - 5e-5)})]))
    with pytest.raises(ValidityError, match=message):
        check_amounts(pd.DataFrame([*LIMITS, rated("ppo 0", 0.06, **{amount: limit - 0.1})]))


def test_who_serves_fewer_vehicles_than_the_bounds_may_be_below_them() -> None:
    check_amounts(pd.DataFrame([*LIMITS, rated("thief", 0.06, co2_kg=90.0, bill=40.0, ev_missing_kwh=4.1)]))


def test_other_years_and_bounds_that_do_not_say_what_is_missing_tell_nothing() -> None:
    low = {"co2_kg": 90.0, "bill": 40.0}
    check_amounts(pd.DataFrame([*LIMITS, rated("a", 0.06, year=6, **low)]))
    check_amounts(pd.DataFrame([*({**limit, "ev_missing_kwh": float("nan")} for limit in LIMITS), rated("a", 0.06, **low)]))
