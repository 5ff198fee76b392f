"""The best so far is what would have won then, over the time and the steps of all trials."""

from pathlib import Path

import numpy as np
import pytest

from results import Results, ResultsError
from results.analysis import best_so_far, compare, leaderboard, pareto_front, references
from results.analysis.progress import aim_of, gains
from tests.results.made import again, evaluation, reports, row, search, settle, tables


def test_each_evaluation_tells_who_would_have_won_then(tmp_path: Path) -> None:
    settle(tmp_path)
    trials = [row(0, 0.4), row(1, 0.8, "frozen"), row(2, 0.9, "pruned"), row(3, 0.9, confirms=1, confirm_run=0)]
    reported = [own for number, score in ((0, 0.4), (1, 0.8), (2, 0.9), (3, 0.9)) for own in reports(number, score)]
    reported[7]["score"] = 0.5  # trial 1 falls in the end
    trials[1]["score"] = 0.5
    results = tables(tmp_path, trials, reported)
    found = best_so_far(results)
    assert found["trial"].tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert found["best"].tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.4, 0.4, 0.6, 0.5, 0.5, 0.5, 0.5, 0.5])
    assert found["highest"].iloc[-1] == pytest.approx(0.6)
    assert found["best_trial"].iloc[-1] == results.best["trial"]
    assert found.loc[found["is_new_best"], "trial"].tolist() == [0, 1]
    assert found["elapsed_seconds"].tolist() == [10.0 * n for n in range(1, 13)]
    assert found["total_steps"].tolist() == [1000 * n for n in range(1, 13)]


def test_of_a_trial_that_is_rated_by_its_best_evaluation_a_worse_one_later_changes_nothing(tmp_path: Path) -> None:
    settle(tmp_path, keep="best")
    reported = reports(0, 0.8)
    reported[3]["score"] = 0.5
    assert best_so_far(tables(tmp_path, [row(0, 0.6)], reported))["best"].tolist() == pytest.approx([0.2, 0.4, 0.6, 0.6])


def test_until_a_trial_that_may_win_was_evaluated_there_is_no_best(tmp_path: Path) -> None:
    found = best_so_far(tables(tmp_path, [row(0, 0.4, "failed")], reports(0, 0.4)))
    assert found["best"].isna().all()
    assert (found["best_trial"] == -1).all()
    assert not found["is_new_best"].any()


def test_references_have_the_site_the_default_and_confirmations(tmp_path: Path) -> None:
    settle(tmp_path)
    trained = [*again(2, 0, (0.10, 0.11, 0.12)), *again(5, 1, (0.30, 0.31, 0.32))]
    found = references(tables(tmp_path, [row(0, 0.15), row(1, 0.4), *trained])).set_index("kind")
    assert found["score"].to_dict() == pytest.approx(
        {"uncontrolled": 0.0, "default": 0.15, "confirmed best": 0.31, "confirmed default": 0.11}
    )
    assert found.loc["confirmed best", "runs"] == 3
    assert found.loc["confirmed best", "low"] < 0.31 < found.loc["confirmed best", "high"]
    assert np.isnan(found.loc["default", "low"])


def test_another_reward_has_no_score_of_the_uncontrolled_site(tmp_path: Path) -> None:
    assert "uncontrolled" not in set(references(tables(tmp_path, [row(0, 0.1, reward="schema")]))["kind"])
    assert "uncontrolled" in set(references(search(tmp_path, 2))["kind"])


def test_a_leader_that_misses_a_requirement_has_no_rating_and_the_first_that_meets_all_leads(tmp_path: Path) -> None:
    settle(tmp_path)
    short = {"shortfall": 0.5, "rating": -1.5e15}
    trials = [row(0, 0.9, **short), row(1, 0.4, shortfall=0.0)]
    reported = [own | short for own in reports(0, 0.9)] + reports(1, 0.4)
    found = best_so_far(tables(tmp_path, trials, reported))
    assert found["best"].isna().tolist() == [True] * 4 + [False] * 4
    assert found["best"].tolist()[4:] == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert found["highest"].max() == pytest.approx(0.4)


def test_the_best_comes_first_and_what_has_no_rating_last(tmp_path: Path) -> None:
    settle(tmp_path)
    trials = [
        row(0, 0.1), row(1, None, "failed"), row(2, 0.5, "frozen"), row(3, 0.3, "pruned"),
        *again(4, 2, (0.6, 0.4)),
    ]  # fmt: skip
    found = leaderboard(tables(tmp_path, trials))
    assert found["trial"].tolist() == [2, 3, 0, 1]
    assert found["rank"].tolist()[:3] == [1, 2, 3]
    assert found["rank"].isna().tolist() == [False, False, False, True]
    assert found["is_best"].tolist() == [True, False, False, False]
    assert found["is_default"].tolist() == [False, False, True, False]
    assert found["confirmed"].iloc[0] == pytest.approx(0.5)
    assert found["confirmed_runs"].iloc[0] == 2
    assert found["confirmed_low"].iloc[0] < 0.5 < found["confirmed_high"].iloc[0]
    assert found["steps_per_second"].iloc[0] == pytest.approx(4000 / 35)


def test_the_objective_ranks_and_what_misses_a_requirement_has_no_rank(tmp_path: Path) -> None:
    trials = [row(0, 0.9, rating=-300.0, objective=300.0, shortfall=0.0), row(1, 0.1, rating=-200.0, objective=200.0)]
    trials.append(row(2, 0.5, rating=-1e15, objective=100.0, shortfall=0.2))
    found = leaderboard(tables(tmp_path, trials))
    assert found["trial"].tolist() == [1, 0, 2]
    assert found["rank"].isna().tolist() == [False, False, True]


def experiment(folder: Path, **columns: object) -> Results:
    bills = {0: (10.0, 5.0), 1: (5.0, 10.0), 2: (8.0, 8.0), 3: (11.0, 6.0), 4: (1.0, 1.0)}
    trials = [row(number, 0.1, **(columns if number == 4 else {})) for number in bills]
    evaluated = [evaluation(number, 4000, 0.1, co2_kg=co2, bill=bill) for number, (co2, bill) in bills.items()]
    evaluated += [evaluation(0, 2000, 0.1, co2_kg=0.0, bill=0.0)]  # not the last one
    return tables(folder, trials, [], evaluated)


def test_of_the_trials_none_on_the_front_is_beaten(tmp_path: Path) -> None:
    found = pareto_front(experiment(tmp_path, shortfall=0.5), ["co2_kg", "bill"])
    assert found.loc[found["on_front"], "trial"].tolist() == [1, 2, 0]  # the best in CO2 first
    assert found.loc[found["trial"] == 0, "co2_kg"].item() == pytest.approx(10.0 * 8.76)  # of a year, after 1,000 h


def test_directions_may_be_given(tmp_path: Path) -> None:
    found = pareto_front(experiment(tmp_path), {"co2_kg": "more", "bill": "less"})
    assert found.loc[found["on_front"], "trial"].tolist() == [3, 0, 4]
    assert pareto_front(experiment(tmp_path), ["score", "bill"])["on_front"].sum() == 1


@pytest.mark.parametrize(
    ("objectives", "said"),
    [
        (["bill"], "at least two objectives"),
        ("bill", "at least two objectives"),
        (["bill", "joy"], "no column 'joy': KPIs are score, import_kwh"),
        (["bill", "hours"], "'hours' has no known direction"),
        ({"bill": "less", "co2_kg": "up"}, "'up' is no direction; give 'less' or 'more'"),
    ],
)
def test_objectives_that_cannot_be_used_are_named(objectives: list[str], said: str, tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=said):
        pareto_front(experiment(tmp_path), objectives)


def test_trials_that_meet_the_requirements_have_gains_and_some_are_on_the_front(tmp_path: Path) -> None:
    settle(tmp_path, objective="co2 bill")
    pairs = [(0.1, 0.3, 0.0), (0.2, 0.1, 0.0), (0.05, 0.05, 0.0), (0.9, 0.9, 0.5)]
    trials = [
        row(number, 0.1, gain=gain, gain_2=second, shortfall=missed, rating=-1.5e15 if missed else (gain + second) / 2)
        for number, (gain, second, missed) in enumerate(pairs)
    ]
    found = gains(tables(tmp_path, trials))
    assert dict(zip(found["trial"], found["on_front"], strict=True)) == {1: True, 0: True, 2: False}
    assert gains(search(tmp_path / "one", 3)).empty


def test_each_experiment_has_a_row_with_its_best_and_what_it_cost(tmp_path: Path) -> None:
    first = search(tmp_path / "first", 6)
    settle(tmp_path / "second")
    trained = [*again(2, 0, (0.10, 0.11, 0.12)), *again(5, 1, (0.30, 0.31, 0.32))]
    evaluated = [evaluation(1, 4000, 0.4, bill=8.0, uncontrolled_bill=10.0)]
    second = tables(tmp_path / "second", [row(0, 0.15), row(1, 0.4), *trained], reports(0, 0.15) + reports(1, 0.4), evaluated)
    empty = tables(tmp_path / "third", [])
    found = compare([first, second, empty])
    assert found["experiment"].tolist() == ["first", "second", "third"]
    assert found["trials"].tolist() == [6, 2, 0]
    assert found["complete"].tolist() == [6, 2, 0]
    assert found["best_trial"].tolist() == [first.best["trial"], 1, -1]
    assert found["gain"].tolist()[1] == pytest.approx(0.25)
    assert found["confirmed_gain"].tolist()[1] == pytest.approx(0.2)
    assert found["bill_change"].tolist()[1] == pytest.approx(-0.2)
    assert "unmet_degree_hours_change" not in found, "where a site keeps set points by itself it says nothing"
    assert found["elapsed_seconds"].tolist() == [240.0, 80.0, 0.0]
    assert found["total_steps"].tolist() == [24_000, 32_000, 0]
    assert found.loc[2, ["best_score", "gain", "confirmed_gain"]].isna().all()


def test_no_experiments_are_an_empty_frame() -> None:
    assert compare([]).empty


def test_an_aim_is_what_differs_from_the_default(tmp_path: Path) -> None:
    assert aim_of({"objective": "score", "weights": [], "validation": []}) == aim_of({}) == ""
    assert aim_of({"objective": "bill", "require": ["ev_served>=0.95"]}) == "objective bill; require ev_served>=0.95"
    of_environment = {"env": "pump.py:make", "validation_weeks": 52, "objective": "info:kwh", "minimize": True}
    assert aim_of(of_environment) == "objective info:kwh; minimize", "it has no weeks"
    first, second = search(tmp_path / "x" / "a", 2), search(tmp_path / "y" / "a", 2)
    settle(tmp_path / "y" / "a", objective="bill")
    found = compare([first, second])
    assert found["aim"].tolist() == ["", "objective bill"]
    assert found["experiment"].tolist() == [str(tmp_path / side / "a") for side in "xy"]
