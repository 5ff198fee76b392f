"""What the numbers say, in sentences."""

from typing import Any

import numpy as np
import pandas as pd

from envs.objective.aim import Aim
from envs.objective.columns import measures
from results.judgement import BOUND, EXACT_MPC, Ranking, judgement
from tuning.judging.report import ranking_of
from tuning.judging.verdict import verdict


def row(contender: str, score: float, seed: int | None = None, missing: float = 2.0) -> dict[str, Any]:
    return {
        "contender": contender, "algorithm": None if seed is None else "ppo", "seed": seed, "year": 3, "hours": 100,
        "score": score, "backend": "batch", "import_kwh": 50.0, "co2_kg": 20.0, "bill": 9.0, "pv_kwh": 40.0, "peak_kw": 5.0,
        "self_consumption": 0.5, "ev_required_kwh": 12.0, "ev_missing_kwh": missing, "uncontrolled_co2_kg": 25.0,
        "uncontrolled_bill": 10.0, "uncontrolled_ev_missing_kwh": 2.0,
    }  # fmt: skip


def said(*rows: dict[str, Any], seeds: int = 3, failed: dict[str, str] | None = None, ranking: Ranking | None = None) -> str:
    found = pd.DataFrame([row(BOUND, 0.10), row("uncontrolled", 0.0), row("rule", 0.06), *rows])
    found["seed"] = found["seed"].astype("Int64")
    return "\n".join(verdict(found, judgement(found, measures(), ranking), seeds, 1, failed or {}, ranking))


def runs(name: str, *scores: float, missing: float = 2.0) -> list[dict[str, Any]]:
    return [row(name, score, seed, missing) for seed, score in enumerate(scores)]


def test_a_winner_is_named_with_who_comes_nearest() -> None:
    text = said(*runs("a", 0.070, 0.071, 0.072), *runs("b", 0.060, 0.061, 0.0621), *runs("c", 0.050, 0.051, 0.0521))
    assert "a wins: b comes second" in text
    assert "a is better than the best controller without learning (rule), by +0.0110" in text
    assert "a reaches 71.0% of the bound" in text


def test_no_winner_is_said_to_be_none() -> None:
    text = said(*runs("a", 0.070, 0.075, 0.072), *runs("b", 0.071, 0.070, 0.072))
    assert "no significant difference: a has the best mean of 3 runs" in text
    assert "wins" not in text


def test_what_does_not_serve_its_vehicles_cannot_win() -> None:
    text = said(*runs("a", 0.070, 0.071, 0.072), *runs("thief", 0.09, 0.091, 0.092, missing=4.0))
    assert "not comparable (*)" in text
    assert "thief" in text.splitlines()[0]
    assert "a is the only contender" in text


def test_one_that_a_rule_beats_is_told_so() -> None:
    assert "a is worse than the best controller without learning (rule)" in said(*runs("a", 0.050, 0.051, 0.052))
    assert "a is not known to be better than" in said(*runs("a", 0.050, 0.065, 0.07))


def test_the_exact_future_is_no_rival_and_a_forecast_is() -> None:
    rivals = [row("MPC: learned forecast", 0.065), row(EXACT_MPC, 0.09)]
    text = said(*runs("a", 0.070, 0.071, 0.072), *rivals)
    assert "a is better than the best controller without learning (MPC: learned forecast), by +0.0060" in text


def test_only_who_has_all_runs_can_lead() -> None:
    text = said(*runs("a", 0.07, 0.0701, 0.0699, 0.02, 0.02), *runs("b", 0.06, 0.0601, 0.0599), seeds=5)
    assert "a wins: b comes second" in text
    assert "a reaches 50.0% of the bound" in text
    # The leader may have failed at the end.
    assert "there is no verdict" in said(*runs("a", 0.07, 0.0701, 0.0699), *runs("b", 0.06, 0.0601, 0.0599), seeds=5)


def test_who_failed_is_named_with_the_reason() -> None:
    text = said(*runs("a", 0.070, 0.071, 0.072), failed={"b": "run 1 failed: it diverged"})
    assert text.startswith("b failed and cannot win: run 1 failed: it diverged")
    assert "a is the only contender" in text


def test_the_objective_decides_who_wins_and_a_requirement_who_cannot() -> None:
    ranking = ranking_of(Aim.parse(objective="peak_kw", require=("ev_missing_kwh<=260",)))
    # Scores are the other way round. Hours are 100, so 3 kWh missing are 262.8 a year.
    high, low = runs("high", 0.09, 0.091, 0.092), runs("low", 0.05, 0.051, 0.052)
    thief = runs("thief", 0.05, 0.051, 0.052, missing=3.0)
    for own, peak in ((high, 9.0), (low, 4.0), (thief, 1.0)):
        for number, each in enumerate(own):
            each["peak_kw"] = peak + number / 10
    text = said(*high, *low, *thief, ranking=ranking)
    assert "not comparable (*), as they miss ev_missing_kwh <= 260: thief" in text
    assert "low wins: high comes second, +5.0000" in text
    assert "low is better than the best controller without learning" in text
    assert "by +0.9000" in text


def test_another_site_is_no_rival_whatever_its_kpis() -> None:
    ranking = ranking_of(Aim.parse(objective="peak_kw"))
    own = [each | {"peak_kw": 4.0 + number / 10} for number, each in enumerate(runs("low", 0.05, 0.051, 0.052))]
    other = row("no PV, no battery", float("nan")) | {"peak_kw": 1.0}
    text = said(*own, other, ranking=ranking)
    assert "low is better than the best controller without learning" in text
    assert "no PV" not in text


def test_the_best_of_many_has_to_be_further_ahead_of_a_rule() -> None:
    """Of eight contenders that are as good as the rule, the best seems better in no more than one case of forty."""
    # Student's interval of these runs alone excludes the rule.
    lucky = (0.0607, 0.0613, 0.0616)
    assert "lucky is better than the best controller without learning (rule)" in said(*runs("lucky", *lucky))
    random = np.random.default_rng(0)
    others = [row for name in "abcdefg" for row in runs(name, *(0.059 + 0.0005 * random.standard_normal(3)))]
    text = said(*runs("lucky", *lucky), *others)
    assert "lucky is not known to be better than the best controller without learning (rule)" in text
    share = next(line for line in text.splitlines() if "of the bound" in line)
    assert share.startswith("lucky reaches 61.2% of the bound (")
