"""Sentences about what policies are worth."""

import numpy as np
import pandas as pd

from results.analysis.judged import Verdict
from results.report.figures import judged
from results.statistics import mean


def test_savings_of_the_best_are_said_and_none_too() -> None:
    last = pd.DataFrame(
        {"hours": [1000], "co2_kg": [90.0], "uncontrolled_co2_kg": [100.0], "peak_kw": [11.0], "uncontrolled_peak_kw": [10.0]}
    )
    assert judged.saved(last, 3).answer == (
        "Against the same site without control (batteries idle, vehicles charge at once), trial 3 lowers CO2 by 10.0 % "
        "(87.6 kg a year) and raises highest import by 10.0 % (1.00 kW) on the validation hours. "
        "Expect less: these hours also chose the trial. No new hours or seeds have checked it."
    )
    assert judged.saved(last, 3, checked=True).answer.endswith(
        "What fresh seeds or new hours give is under the question of luck."
    )
    assert "scaled from 1,000 validation hours to a year" in judged.saved(last, 3).note
    assert judged.saved(last.assign(co2_kg=100.0, peak_kw=10.0), 3).answer.startswith(
        "Nothing: trial 3 is like the same site without control"
    )
    assert judged.saved(last.head(0), None).answer == "It cannot be said: no trial has won."


def terms(best: tuple[float, float], rule: tuple[float, float]) -> pd.DataFrame:
    rows = [
        {"policy": policy, "kind": kind, "split": "test", "runs": 1, "term": term, "value": value, "score": sum(values)}
        for policy, kind, values in (("best (trial 1)", "best", best), ("rule: PV first", "rule", rule))
        for term, value in zip(("co2", "ev"), values, strict=True)
    ]
    return pd.DataFrame(rows)


RULES = "What simple rules save is measured by a judgement: python -m tuning.judge EXPERIMENT."


def test_terms_are_compared_with_the_best_rule() -> None:
    assert judged.terms(terms((0.2, -0.05), (0.1, 0.0))).answer == (
        "Against rule: PV first the best is ahead most in CO2 (+0.100), and behind most in vehicles (-0.0500)."
    )
    assert judged.terms(terms((0.2, -0.05), (0.1, 0.0)).head(2)).answer == (
        f"Most comes from CO2: +0.200 of +0.150; vehicles costs it -0.0500. {RULES}"
    )
    assert judged.terms(terms((-0.2, -0.05), (0.1, 0.0)).head(2)).answer == (
        f"No term is better than on the uncontrolled site; CO2 costs most: -0.200 of -0.250. {RULES}"
    )


def test_luck_compares_the_search_with_fresh_seeds() -> None:
    found = pd.DataFrame(
        {
            "name": ["trial 4"], "trial": [4], "is_default": [False], "split": ["validation"], "measure": ["score"],
            "runs": [3], "search": [0.3], "fresh": [0.2], "low": [0.1], "high": [0.3], "change": [-0.1],
        }
    )  # fmt: skip
    gains = pd.DataFrame({"confirms": [4], "gain": [0.05], "gain_low": [0.01], "gain_high": [0.09], "ended_early": [0]})
    assert judged.luck(found, gains).answer == (
        "With fresh seeds trial 4 is better than the default: +0.0500 (+0.0100 to +0.0900); "
        "the score of trial 4 fell from +0.300 in the search to +0.200 on the validation split."
    )
    short = gains.assign(ended_early=1, gain=np.nan)
    for none in (found.head(0), found.assign(is_default=True)):
        assert judged.luck(none, short).answer == (
            "It cannot be said: trainings with fresh seeds did not reach the end, and those that did are the lucky ones."
        )
    assert judged.checked(found, gains.head(0))
    assert judged.checked(found.head(0), gains)
    # A judgement of the default alone has not checked the winner.
    assert not judged.checked(found.assign(is_default=True), gains.head(0))
    assert "not surely other than the default" in judged.luck(found, gains.assign(gain_low=-0.01)).answer
    assert judged.luck(found.head(0), gains.head(0)).answer.startswith(
        "It cannot be said: each trial was trained once, with one random seed."
    )


def test_luck_has_a_chart_for_scores_and_one_for_ratings() -> None:
    row = {"name": "trial 4", "trial": 4, "is_default": False, "runs": 3, "low": 0.1, "high": 0.3}
    found = pd.DataFrame(
        [
            {**row, "split": "validation", "measure": "rating", "search": -800.0, "fresh": -810.0, "change": -10.0},
            {**row, "split": "test", "measure": "score", "search": 0.3, "fresh": 0.2, "change": -0.1},
        ]
    )
    made = judged.luck(found, pd.DataFrame({"gain": [], "ended_early": []}))
    assert [panel.title for panel in made.panels] == ["Rating", "Score"]
    for panel, most in zip(made.panels, (-800.0, 0.3), strict=True):
        points = panel.spec["layer"][1]["data"]["values"]
        assert max(point["value"] for point in points) == most


def runs(low: float) -> pd.DataFrame:
    """A contender with two runs and a mean of 0.3. Its interval begins at `low`."""
    ends = mean(np.array([0.2, 0.4]))
    far = 0.1 * (0.3 - low) / (0.3 - ends.low)
    names = ["ppo 1", "ppo 1", "rule: a", "bound of score"]
    kinds = ["contender", "contender", "rule", "bound"]
    own = {"low": [low, low, np.nan, np.nan], "high": [0.6 - low, 0.6 - low, np.nan, np.nan]}
    scores = [0.3 - far, 0.3 + far, 0.2, 0.6]
    return pd.DataFrame({"contender": names, "kind": kinds, "seed": [1, 2, -1, -1], "score": scores, **own})


def test_the_ranking_is_sure_if_the_interval_excludes_the_rival() -> None:
    assert judged.ranking(runs(0.25)).answer == (
        "ppo 1 has +0.300 (+0.250 to +0.350), surely above the best without training, rule: a, with +0.200; "
        "that is 50.0 % of the bound."
    )
    assert "), above the best without training" in judged.ranking(runs(0.1)).answer
    foreseen = runs(0.1).replace({"rule: a": "MPC: exact future", "rule": "mpc"})
    assert judged.ranking(foreseen).answer == "ppo 1 has +0.300 (+0.100 to +0.500); that is 50.0 % of the bound."
    assert judged.ranking(runs(0.1).head(0)).answer == "It cannot be said: nothing was judged."


def contenders(**scores: list[float]) -> pd.DataFrame:
    rows = []
    for name, own in scores.items():
        ends = mean(np.array(own))
        rows += [
            {"contender": name, "kind": "contender", "seed": seed, "score": score, "low": ends.low, "high": ends.high}
            for seed, score in enumerate(own)
        ]
    rule = {"contender": "rule: a", "kind": "rule", "seed": -1, "score": 0.2, "low": np.nan, "high": np.nan}
    return pd.DataFrame([*rows, rule])


def test_the_best_of_several_has_to_be_further_ahead_to_be_surely_above() -> None:
    """Its own interval excludes the rule, and that which holds for all of them does not. So says the verdict."""
    lucky = [0.25, 0.26, 0.33]
    alone = contenders(a=lucky)
    assert alone["low"].iloc[0] > 0.15
    rule = alone.assign(score=alone["score"].where(alone["kind"] != "rule", alone["low"].iloc[0] - 0.005))
    assert "surely above" in judged.ranking(rule).answer
    several = contenders(a=lucky, b=[0.1, 0.2, 0.3], c=[0.15, 0.2, 0.25], d=[0.1, 0.2, 0.26])
    several = several.assign(score=several["score"].where(several["kind"] != "rule", alone["low"].iloc[0] - 0.005))
    assert "surely" not in judged.ranking(several).answer
    assert "), above the best without training" in judged.ranking(several).answer


def test_a_few_lucky_runs_of_one_that_was_dropped_are_not_the_best() -> None:
    found = judged.ranking(contenders(dropped=[0.5, 0.51, 0.52], a=[0.3, 0.31, 0.3, 0.31, 0.3]))
    assert found.answer.startswith("a has +0.304")


def test_of_several_by_another_objective_the_interval_is_wider_too() -> None:
    table = pd.DataFrame(
        {
            "contender": ["a", "b", "rule: a"], "comparable": True, "objective": [90.0, 91.0, 96.0],
            "objective_low": [85.0, 80.0, np.nan], "objective_high": [95.0, 102.0, np.nan], "goal": [-90.0, -91.0, -96.0],
        }
    )  # fmt: skip
    aim = {"objective": "bill (less is better)"}
    both = judged.ranking(contenders(a=[0.3, 0.31, 0.32], b=[0.1, 0.2, 0.3]), Verdict(table, aim))
    assert ", better than the best without training" in both.answer
    alone = table[table["contender"] != "b"]
    assert ", surely better than" in judged.ranking(contenders(a=[0.3, 0.31, 0.32]), Verdict(alone, aim)).answer


def by_bill(comparable: bool = True) -> Verdict:
    table = pd.DataFrame(
        {
            "contender": ["ppo 1", "rule: a", "bound of score"], "comparable": [comparable, True, True],
            "objective": [90.0, 80.0, np.nan], "objective_low": [85.0, np.nan, np.nan],
            "objective_high": [95.0, np.nan, np.nan], "goal": [-90.0, -80.0, np.nan],
        }
    )  # fmt: skip
    return Verdict(table, {"objective": "bill (less is better)", "requirements": "ev_served >= 0.95"})


def test_a_judgement_by_another_objective_is_ranked_as_its_verdict() -> None:
    found = judged.ranking(runs(0.25), by_bill())
    assert found.answer == (
        "ppo 1 has 90.0 (85.0 to 95.0) of bill (less is better), surely worse than the best without training, rule: a, "
        "with 80.0."
    )
    assert found.table is not None
    assert found.table["contender"].tolist() == ["rule: a", "ppo 1"]
    assert "Required is ev_served >= 0.95." in found.note
    missing = judged.ranking(runs(0.25), by_bill(False))
    assert missing.answer.startswith("None that was trained is comparable: each misses what the verdict requires.")
    assert "Not comparable, and so last: ppo 1." in missing.note


def test_amounts_name_what_the_best_trained_controller_saves() -> None:
    table = pd.DataFrame(
        {
            "contender": ["ppo 1", "rule: a"], "algorithm": ["ppo", ""], "comparable": True, "co2_change": [-0.2, -0.1],
            "bill_change": [0.1, -0.1], "import_kwh": [1e5, 2e5], "co2_kg": 1e3, "peak_kw": 10.0, "bill": 5.0,
            "self_consumption": 0.5, "served": np.nan,
        }
    )  # fmt: skip
    assert (
        judged.amounts(table).answer
        == "ppo 1 lowers CO2 by 20.0 % (250 kg a year) and raises the bill by 10.0 % (0.455 a year in the tariff's currency) "
        "against the same site without control (batteries idle, vehicles charge at once)."
    )
    both = table.assign(bill_change=[-0.1, -0.1])
    assert judged.amounts(both).answer.startswith("ppo 1 lowers CO2 by 20.0 % (250 kg a year) and the bill by 10.0 % (")
    assert "import, MWh" in judged.amounts(table).table.columns


def test_leaders_say_how_far_the_best_is_above_the_default() -> None:
    board = pd.DataFrame(
        {
            "rank": [1.0, 2.0], "trial": [3, 0], "state": "complete", "rating": [0.3, 0.2], "steps": [5000, 4000],
            "seconds": 1.0, "is_best": [True, False], "is_default": [False, True], "shortfall": np.nan, "hp_gamma": [0.9, 0.95],
        }
    )  # fmt: skip
    assert (
        judged.leaders(board).answer
        == "Trial 3, with +0.300 after 5,000 steps, 0.100 above the default (trial 0, after 4,000 steps)."
    )
    failed = board.assign(rating=np.nan, state="failed", is_best=False)
    assert judged.leaders(failed).answer == "None: of 2 trials none was rated (2 failed)."
