"""Sentences about who is first in a judgement."""

import numpy as np
import pandas as pd

from results.analysis.judged import Verdict
from results.report.figures.ranking import ranking
from results.statistics import mean

BY_SCORE = Verdict(pd.DataFrame({"contender": [], "comparable": []}))  # in whose table nothing is yet


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
    assert ranking(runs(0.25), BY_SCORE).answer == (
        "ppo 1 has +0.3000 (+0.2500 to +0.3500), surely above the best without training, rule: a, with +0.2000; "
        "that is 50.0 % of the bound."
    )
    unsure = ranking(runs(0.1), BY_SCORE).answer
    assert "), above the best without training, rule: a, with +0.2000, though not surely; that" in unsure
    foreseen = runs(0.1).replace({"rule: a": "MPC: exact future", "rule": "MPC"})
    assert ranking(foreseen, BY_SCORE).answer == "ppo 1 has +0.3000 (+0.1000 to +0.5000); that is 50.0 % of the bound."


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


def test_in_an_environment_nothing_is_said_of_a_site() -> None:
    site, environment = ranking(runs(0.25), BY_SCORE), ranking(runs(0.25), BY_SCORE, of_environment=True)
    assert (site.question, environment.question) == (
        "Which controller is best on hours that no training used?",
        "Which controller is best in episodes that no training used?",
    )
    assert "0 is the uncontrolled site" in site.note
    assert "site" not in environment.note


def test_the_best_of_several_has_to_be_further_ahead_to_be_surely_above() -> None:
    """Its own interval excludes the rule, and that which holds for all of them does not. So says the verdict."""
    lucky = [0.25, 0.26, 0.33]
    alone = contenders(a=lucky)
    assert alone["low"].iloc[0] > 0.15
    rule = alone.assign(score=alone["score"].where(alone["kind"] != "rule", alone["low"].iloc[0] - 0.005))
    assert "surely above" in ranking(rule, BY_SCORE).answer
    several = contenders(a=lucky, b=[0.1, 0.2, 0.3], c=[0.15, 0.2, 0.25], d=[0.1, 0.2, 0.26])
    several = several.assign(score=several["score"].where(several["kind"] != "rule", alone["low"].iloc[0] - 0.005))
    assert "), above the best without training" in ranking(several, BY_SCORE).answer
    assert "though not surely" in ranking(several, BY_SCORE).answer


def test_a_few_lucky_runs_of_one_that_was_dropped_are_not_the_best() -> None:
    found = ranking(contenders(dropped=[0.5, 0.51, 0.52], a=[0.3, 0.31, 0.3, 0.31, 0.3]), BY_SCORE)
    assert found.answer.startswith("a has +0.3040")


def test_of_several_by_another_objective_the_interval_is_wider_too() -> None:
    table = pd.DataFrame(
        {
            "contender": ["a", "b", "rule: a"], "comparable": True, "objective": [90.0, 91.0, 96.0],
            "objective_low": [85.0, 80.0, np.nan], "objective_high": [95.0, 102.0, np.nan], "goal": [-90.0, -91.0, -96.0],
        }
    )  # fmt: skip
    aim = {"objective": "bill (less is better)"}
    both = ranking(contenders(a=[0.3, 0.31, 0.32], b=[0.1, 0.2, 0.3]), Verdict(table, aim))
    assert ", better than the best without training" in both.answer
    assert "though not surely" in both.answer
    alone = table[table["contender"] != "b"]
    assert ", surely better than" in ranking(contenders(a=[0.3, 0.31, 0.32]), Verdict(alone, aim)).answer


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
    found = ranking(runs(0.25), by_bill())
    assert found.answer == (
        "ppo 1 has 90.0 (85.0 to 95.0) of bill (less is better), surely worse than the best without training, rule: a, "
        "with 80.0."
    )
    assert found.table is not None
    assert found.table["contender"].tolist() == ["rule: a", "ppo 1"]
    assert "Required is ev_served >= 0.95." in found.note
    missing = ranking(runs(0.25), by_bill(False))
    assert missing.answer.startswith("None that was trained is comparable: each misses what the verdict requires.")
    assert "Not comparable, and so last: ppo 1." in missing.note
