"""Results that cannot be stop with their numbers; what a bound says nothing about does not."""

from typing import Any

import pandas as pd
import pytest

from envs.objective.evaluate import ValidityError
from envs.yardsticks.baselines import WITHOUT
from results.judgement import BOUND
from tuning.judging.checks import check_amounts, check_scores


def row(contender: str, score: float, year: int = 3, **given: Any) -> dict[str, Any]:
    return {
        "contender": contender, "algorithm": None, "year": year, "score": score, "co2_kg": 100.0, "bill": 50.0,
        "ev_required_kwh": 80.0, "ev_missing_kwh": 4.0, "uncontrolled_co2_kg": 120.0, "uncontrolled_bill": 60.0, **given,
    }  # fmt: skip


LIMITS = [row(BOUND, 0.07, ev_missing_kwh=9.0), row("bound of co2", 0.05, bill=55.0), row("bound of cost", 0.05, co2_kg=110.0)]


def test_a_score_above_the_bound_stops_with_the_numbers() -> None:
    rows = [*LIMITS, row("rule", 0.06), row("rule", 0.08, year=6), row(WITHOUT, float("nan"))]
    check_scores(pd.DataFrame(rows))
    with pytest.raises(ValidityError, match=r"too good, year 3: a score of \+0\.075"):
        check_scores(pd.DataFrame([*rows, row("too good", 0.075)]))


@pytest.mark.parametrize("score", [float("nan"), float("-inf")])
def test_a_contender_without_a_score_stops_it(score: float) -> None:
    with pytest.raises(ValidityError, match=r"ppo 0, year 6: a score of .* is no number"):
        check_scores(pd.DataFrame([*LIMITS, row("ppo 0", score, year=6, algorithm="ppo")]))


@pytest.mark.parametrize(
    ("amount", "message"),
    [("co2_kg", r"ppo 0, year 3: an emission of 99\.900 kg is below"), ("bill", r"ppo 0, year 3: a bill of 49\.900 is below")],
)
def test_an_amount_below_its_bound_stops_with_the_numbers(amount: str, message: str) -> None:
    limit = 100.0 if amount == "co2_kg" else 50.0
    check_amounts(pd.DataFrame([*LIMITS, row("ppo 0", 0.06, **{amount: limit * (1.0 - 5e-5)})]))
    with pytest.raises(ValidityError, match=message):
        check_amounts(pd.DataFrame([*LIMITS, row("ppo 0", 0.06, **{amount: limit - 0.1})]))


def test_who_serves_fewer_vehicles_than_the_bounds_may_be_below_them() -> None:
    check_amounts(pd.DataFrame([*LIMITS, row("thief", 0.06, co2_kg=90.0, bill=40.0, ev_missing_kwh=4.1)]))


def test_other_years_and_bounds_that_do_not_say_what_is_missing_tell_nothing() -> None:
    low = {"co2_kg": 90.0, "bill": 40.0}
    check_amounts(pd.DataFrame([*LIMITS, row("a", 0.06, year=6, **low)]))
    check_amounts(pd.DataFrame([*({**limit, "ev_missing_kwh": float("nan")} for limit in LIMITS), row("a", 0.06, **low)]))
