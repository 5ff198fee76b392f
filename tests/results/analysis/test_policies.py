"""The terms of the reward add up to the score of each policy."""

from pathlib import Path

import pytest

from results.analysis import reward_terms
from results.analysis.policies import last_evaluation
from tests.results.made import evaluation, row, search, tables


def test_only_the_last_evaluation_of_a_trial_counts(tmp_path: Path) -> None:
    results = search(tmp_path, 3)
    assert last_evaluation(results)["steps"].tolist() == [4000] * 3


def test_best_and_default_have_terms_that_add_up_to_their_scores(tmp_path: Path) -> None:
    results = search(tmp_path, 8)
    found = reward_terms(results)
    assert set(found["kind"]) == {"best", "default"}
    assert set(found["term"]) == {"co2", "cost"}  # ev is 0 for all
    for _, own in found.groupby("policy"):
        assert own["value"].sum() == pytest.approx(own["score"].iloc[0])


def test_a_judgements_policies_follow_with_their_runs_and_the_reference_backend(tmp_path: Path) -> None:
    def judged(contender: str, score: float, backend: str, **columns: object) -> dict[str, object]:
        return evaluation(0, 1, score, contender=contender, **columns) | {"backend": backend, "split": "test"}

    rows = [
        judged("a 1", 0.2, "batch", algorithm="ppo", seed=1), judged("a 1", 0.4, "citylearn", algorithm="ppo", seed=1),
        judged("a 1", 0.6, "citylearn", algorithm="ppo", seed=2), judged("rule: PV first", 0.1, "batch"),
        judged("bound of score", 0.9, "batch") | {"term_co2": None, "term_cost": None, "term_ev": None},
    ]  # fmt: skip
    found = reward_terms(search(tmp_path, 4), tables(tmp_path, [], [], rows))
    of_test = found[found["split"] == "test"]
    assert of_test["policy"].unique().tolist() == ["a 1", "rule: PV first"]  # the bound has no terms
    own = of_test[of_test["policy"] == "a 1"].set_index("term")
    assert own["value"].to_dict() == pytest.approx({"co2": 0.375, "cost": 0.125})
    assert (own["runs"] == 2).all()


def test_without_a_winner_there_are_none(tmp_path: Path) -> None:
    assert reward_terms(tables(tmp_path, [row(0, None, "failed")])).empty
