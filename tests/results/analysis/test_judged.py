"""Scores of the search stand beside those of fresh seeds."""

from pathlib import Path

import pandas as pd
import pytest

from results import Results
from results.analysis import judged_runs, luck, references
from results.analysis.judged import caveats, kind_of
from tests.results.made import MEASURES, again, evaluation, row, settle, tables


def judgement(folder: Path) -> Results:
    def run(contender: str, score: float, **columns: object) -> dict[str, object]:
        return evaluation(0, 1, score, contender=contender, **columns) | {"split": "test"}

    rows = [run(f"{folder.name} 1", 0.2 + 0.01 * seed, algorithm="ppo", seed=seed) for seed in range(3)]
    rows += [run("ppo default, 4,000 steps", 0.1 + 0.01 * seed, algorithm="ppo", seed=seed) for seed in range(3)]
    rows += [run("other 7", 0.3, algorithm="sac", seed=1)]
    rows += [run(name, score) for name, score in (("uncontrolled", 0.0), ("rule: PV first", 0.12), ("MPC: learned", 0.2))]
    return tables(folder, [], [], [*rows, run("bound of score", 0.5)])


def experiment(folder: Path) -> Results:
    settle(folder)
    return tables(folder, [row(0, 0.15), row(1, 0.4), *again(2, 1, (0.30, 0.31))])


def test_kinds_follow_from_names() -> None:
    names = ["uncontrolled", "no PV, no battery", "rule: PV first", "CityLearn: BasicRBC", "MPC: exact future", "bound of co2"]
    assert [kind_of(name, None) for name in names] == ["uncontrolled", "uncontrolled", "rule", "rule", "MPC", "bound"]
    assert kind_of("uncontrolled", "ppo") == "contender"
    assert [kind_of(name, None) for name in ("random actions", "no action", "rules:act")] == ["uncontrolled"] * 2 + ["rule"]


def test_the_best_falls_with_fresh_seeds_and_is_told_by_split(tmp_path: Path) -> None:
    found = luck(experiment(tmp_path), judgement(tmp_path))
    assert found[["trial", "split", "runs"]].to_numpy().tolist() == [[1, "validation", 2], [1, "test", 3], [0, "test", 3]]
    assert found["search"].tolist() == pytest.approx([0.4, 0.4, 0.15])
    assert found["change"].tolist() == pytest.approx([-0.095, -0.19, -0.04])
    assert found["is_default"].tolist() == [False, False, True]
    assert len(luck(experiment(tmp_path))) == 1


def test_the_default_of_another_algorithm_or_of_other_steps_is_not_this_experiments(tmp_path: Path) -> None:
    names = [("sac default, 4,000 steps", "sac"), ("ppo default, 14,000 steps", "ppo"), ("ppo default, 4,000 steps", "ppo")]
    rows = [evaluation(0, 1, 0.1, contender=name, algorithm=of, seed=1) | {"split": "test"} for name, of in names]
    found = luck(experiment(tmp_path), tables(tmp_path, [], [], rows))
    assert found.loc[found["is_default"], "name"].tolist() == ["ppo default, 4,000 steps"]
    assert len(found) == 2


@pytest.mark.parametrize("own", [{"set": [["gamma=0.9"]]}, {"space": "bounds.toml"}])
def test_a_search_with_values_or_a_space_of_its_own_has_not_tried_the_default(own: dict[str, object], tmp_path: Path) -> None:
    searched = experiment(tmp_path)
    settle(tmp_path, **own)
    found = luck(searched, judgement(tmp_path))
    assert found.loc[found["is_default"], "trial"].tolist() == [-1]


def test_scores_stand_beside_ratings_only_where_these_are_scores(tmp_path: Path) -> None:
    by_score = experiment(tmp_path)
    assert set(luck(by_score, judgement(tmp_path))["measure"]) == {"score"}
    settle(tmp_path, objective="bill")
    found = luck(by_score, judgement(tmp_path))
    assert found["measure"].tolist() == ["rating", "score", "score"]
    assert set(references(by_score, judgement(tmp_path))["split"]) == {"validation"}
    assert "uncontrolled" not in set(references(by_score)["kind"])
    settle(tmp_path, objective="co2 bill")
    assert references(by_score).set_index("kind")["score"]["uncontrolled"] == 0.0


def test_references_have_a_judgements_rules_and_bound(tmp_path: Path) -> None:
    found = references(experiment(tmp_path), judgement(tmp_path))
    of_test = found[found["split"] == "test"]
    assert of_test["kind"].tolist() == ["contender"] * 3 + ["uncontrolled", "rule", "MPC", "bound"]
    assert of_test["score"].tolist()[-1] == 0.5


def test_an_experiment_is_no_judgement(tmp_path: Path) -> None:
    assert judged_runs(experiment(tmp_path)).empty


def test_beside_savings_stand_a_score_below_no_control_and_those_who_pay() -> None:
    row = {
        "hours": 1000, "score": 0.1, "departures": 60, "departures_met": 60, "ev_required_kwh": 100.0, "ev_served": 0.99,
        "uncontrolled_ev_required_kwh": 100.0, "uncontrolled_ev_served": 0.995,
    }  # fmt: skip
    assert caveats(pd.DataFrame([row]), MEASURES, "improvement") == []
    (worse,) = caveats(pd.DataFrame([row | {"score": -0.1977}]), MEASURES, "improvement")
    assert worse == "It is worse than no control, which scores 0: its score is -0.1977."
    assert caveats(pd.DataFrame([row | {"score": -1e-8}]), MEASURES, "improvement") == []
    (paid,) = caveats(pd.DataFrame([row | {"ev_served": -0.5, "departures_met": 0}]), MEASURES, "schema")
    assert paid.startswith("Vehicles pay for it: 0 of 60 left with what they asked for, and -50.0% of that was served, 99.5% ")
    assert paid.endswith("--require 'ev_served>=0.99' takes no such policy.")
    felt = {"occupied_hours": 500.0, "uncontrolled_occupied_hours": 500.0, "uncontrolled_discomfort": 0.1}
    assert caveats(pd.DataFrame([row | felt | {"discomfort": 0.105}]), MEASURES, "improvement") == []
    (hot,) = caveats(pd.DataFrame([row | felt | {"discomfort": 0.2}]), MEASURES, "improvement")
    assert hot.startswith("People pay for it: it is too warm or too cold in 20.0% of their hours, in 10.0% without control; ")
    assert hot.endswith("--require 'discomfort<=0.1' takes no such policy.")
    # A site without vehicles.
    assert caveats(pd.DataFrame([{"hours": 1000, "score": 0.1}]), MEASURES, "improvement") == []
    # By the schema's own reward no control does not score 0.
    assert caveats(pd.DataFrame([{"hours": 1000, "score": -9.0}]), MEASURES, "schema") == []
