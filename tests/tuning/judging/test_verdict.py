"""What the numbers say, in sentences."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from common.measure import VEHICLES_SERVED
from envs.objective.aim import Aim
from envs.objective.columns import measures
from results.judgement import BOUND, EXACT_MPC, Ranking, judgement
from tests.results.judged_rows import judged_frame, judged_row
from tuning.judging.report import ranking_of
from tuning.judging.verdict import FIRST, looks, standing, verdict


def row(contender: str, score: float, seed: int | None = None, missing: float = 2.0) -> dict[str, Any]:
    served = {"ev_missing_kwh": missing, "ev_served": 1.0 - missing / 12.0, "uncontrolled_ev_served": 10.0 / 12.0}
    return judged_row(contender, score, seed, **served)


def said(*rows: dict[str, Any], seeds: int = 3, failed: dict[str, str] | None = None, ranking: Ranking | None = None) -> str:
    found = judged_frame([row(BOUND, 0.10), row("uncontrolled", 0.0), row("rule", 0.06), *rows])
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
    assert text.splitlines()[0] == f"not comparable (*), as they miss {VEHICLES_SERVED.text}: thief"
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
    ranking = ranking_of(Aim.parse(objective="peak_kw", require=("ev_missing_kwh<=260",)), pd.DataFrame(), measures())
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
    assert "low reaches 51.0% of the bound of score (" in text


def test_another_site_is_no_rival_whatever_its_kpis() -> None:
    ranking = ranking_of(Aim.parse(objective="peak_kw"), pd.DataFrame(), measures())
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


@pytest.mark.parametrize("runs", [2, 3, 4, 5, 8, 20])
def test_the_last_look_is_at_all_runs_and_none_comes_before_the_first(runs: int) -> None:
    found = looks(runs)
    assert found[-1] == runs
    assert found == sorted(set(found))
    assert all(count >= FIRST for count in found[:-1])


def test_who_is_clearly_behind_is_beaten_and_who_is_close_is_not() -> None:
    best = np.array([0.070, 0.071, 0.069, 0.070])
    far, close = best - np.array([0.01, 0.011, 0.01, 0.009]), best - np.array([1, -1, 1, 0]) / 1e3
    found = standing({"far": far, "best": best, "close": close})
    assert found.leader == "best"
    assert found.beaten == ["far"]
    assert found.winner is None


def test_a_dropped_one_is_compared_over_the_runs_that_it_has() -> None:
    found = standing({"a": np.array([0.07, 0.071, 0.069, 0.2]), "b": np.array([0.06, 0.062, 0.059])})
    assert found.behind["b"].value == pytest.approx((0.01 + 0.009 + 0.01) / 3.0)


def test_more_looks_and_more_contenders_need_more_evidence() -> None:
    scores = {"a": np.array([0.0703, 0.072, 0.071]), "b": np.array([0.068, 0.069, 0.0695])}
    assert standing(scores).winner == "a"
    assert standing(scores, 5).winner is None
    others = {str(i): scores["b"] - 0.05 + np.array([i, -i, 0]) * 1e-4 for i in range(1, 7)}
    assert "b" not in standing(scores | others).beaten


def test_one_that_was_dropped_is_compared_with_the_noise_of_its_time() -> None:
    random = np.random.default_rng(1)
    scores = {name: 0.06 + 1e-4 * random.standard_normal(5) for name in "abc"}
    scores["d"] = scores["a"][:3] - 0.01
    then = {name: own[:3] for name, own in scores.items()}
    now = standing(scores, 2)
    assert list(now.behind) == [name for name in "abcd" if name != now.leader]
    if standing(then, 2).leader == now.leader:
        assert now.behind["d"] == standing(then, 2).behind["d"]
    assert "d" in now.beaten


def race(scores: np.ndarray) -> tuple[bool, bool]:
    """Whether any of the contenders is beaten in a race in which the beaten are dropped, and whether there is a winner.

    Args:
        scores: shape (contenders, runs).
    """
    racing = {str(number): own for number, own in enumerate(scores)}
    counts = looks(scores.shape[1])
    for count in counts:
        now = standing({name: own[:count] for name, own in racing.items()}, len(counts))
        racing = {name: own for name, own in racing.items() if name not in now.beaten}
    return len(racing) < len(scores), len(racing) == 1


@pytest.mark.parametrize("noise", [(1.0,) * 6, (1.0, 1.0, 0.3, 0.1, 0.03, 0.01)])
def test_among_equals_hardly_ever_one_is_dropped(noise: tuple[float, ...]) -> None:
    """Six contenders that are equally good, looked at twice: in no more than one race of twenty is one of them beaten."""
    random, races = np.random.default_rng(0), 500
    scores = random.standard_normal((races, 6, 5)) * np.array(noise)[:, np.newaxis]
    dropped = np.mean([race(own)[0] for own in scores])
    assert dropped < 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / races)


def test_a_clear_winner_is_told_after_few_runs() -> None:
    """Six deviations ahead of five others: five runs tell it nearly always."""
    random = np.random.default_rng(2)
    scores = random.standard_normal((100, 6, 5)) + np.array([6.0, 0, 0, 0, 0, 0])[:, np.newaxis]
    assert np.mean([race(own)[1] for own in scores]) > 0.85
