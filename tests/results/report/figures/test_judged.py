"""Sentences about what policies are worth."""

import numpy as np
import pandas as pd

from results.judgement import METRICS, metrics
from results.report.figures import judged
from tests.results.made import MEASURES


def test_savings_of_the_best_are_said_and_none_too() -> None:
    last = pd.DataFrame(
        {"hours": [1000], "co2_kg": [90.0], "uncontrolled_co2_kg": [100.0], "peak_kw": [11.0], "uncontrolled_peak_kw": [10.0]}
    )
    assert judged.saved(last, MEASURES, 3).answer == (
        "Against the same site without control (batteries idle, vehicles charge at once), trial 3 lowers CO2 by 10.0 % "
        "(87.6 kg a year) and raises peak by 10.0 % (1.00 kW) on the validation hours. "
        "Expect less: these hours also chose the trial. No new hours or seeds have checked it."
    )
    assert judged.saved(last, MEASURES, 3, checked=True).answer.endswith(
        "What fresh seeds or new hours give is under the question of luck."
    )
    assert "Scaled from 1,000 validation hours" in judged.saved(last, MEASURES, 3).note
    assert judged.saved(last.assign(co2_kg=100.0, peak_kw=10.0), MEASURES, 3).answer.startswith(
        "Nothing: trial 3 is like the same site without control"
    )
    assert judged.saved(last.head(0), MEASURES, None).answer == "It cannot be said: no trial has won."


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


def test_amounts_name_what_the_best_trained_controller_saves() -> None:
    table = pd.DataFrame(
        {
            "contender": ["ppo 1", "rule: a"], "algorithm": ["ppo", ""], "comparable": True, "co2_change": [-0.2, -0.1],
            "bill_change": [0.1, -0.1], "import_kwh": [1e5, 2e5], "co2_kg": 1e3, "peak_kw": 10.0, "bill": 5.0,
            "self_consumption": 0.5, "served": np.nan,
        }
    )  # fmt: skip
    table.attrs[METRICS] = {name: own.metadata for name, own in metrics(MEASURES).items()}
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
