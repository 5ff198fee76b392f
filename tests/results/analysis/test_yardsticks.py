"""Where the best policies of a search stand, and what learning added."""

import math
from pathlib import Path
from typing import Any

import pytest

from common.measure import SERVED_BOUND
from results.analysis.yardsticks import beside_yardsticks, best_alone, better_controller, yardstick_lines
from tests.results import made
from tests.results.made import Row

YARDSTICKS = {
    "uncontrolled": (0.0, 0.9), "no PV, no battery": (math.nan, 0.9), "rule: good": (0.04, 0.9), "rule: thief": (0.07, 0.1),
    "rule: bad": (-0.1, 0.9), "MPC: learned forecast": (0.06, 0.9), "bound of score": (0.08, math.nan),
    "bound of co2": (0.05, math.nan),
}  # fmt: skip


def controllers(**changed: float) -> list[Row]:
    rows = []
    for name, (score, served) in YARDSTICKS.items():
        rows.append(made.evaluation(0, 0, changed.get(name.partition(":")[0].partition(" ")[0], score), contender=name))
        rows[-1] |= {"trial": None, "steps": None, "ev_served": served, "ev_required_kwh": 10.0}
        rows[-1] |= {"uncontrolled_ev_served": 0.9, "uncontrolled_ev_required_kwh": 10.0}
    return rows


def searched(folder: Path, trials: list[Row], yardsticks: list[Row]) -> Any:
    rated = [made.evaluation(row["trial"], made.BUDGET, row["score"], ev_served=0.9, ev_required_kwh=10.0) for row in trials]
    return made.tables(folder, trials, evaluations=[*rated, *yardsticks])


def planned(number: int, score: float, alone: float) -> Row:
    return made.row(number, score, hp_plan="learned", plan_score=alone, kept_steps=made.BUDGET)


@pytest.fixture(autouse=True)
def plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made, "KINDS", {**made.KINDS, "plan": str})


def test_the_best_two_stand_between_rules_and_the_bound(tmp_path: Path) -> None:
    results = searched(tmp_path, [planned(0, 0.05, 0.05), made.row(1, 0.03), made.row(2, 0.02)], controllers())
    table = beside_yardsticks(results)
    assert table["name"].tolist() == [
        "uncontrolled", "trial 1, the best that acts alone", "rule: good", "trial 0", "plan of trial 0 alone",
        "MPC: learned forecast", "bound of score",
    ]  # fmt: skip
    assert table["of_bound"].tolist() == pytest.approx([0.0, 0.375, 0.5, 0.625, 0.625, 0.75, 1.0])
    assert table["served"].tolist()[:4] == [0.9] * 4
    assert yardstick_lines(results) == [
        "Trial 0 acts beside a plan of model predictive control, which alone scores +0.0500; what its policy learned adds "
        "nothing.",
        "Best that acts alone, and needs nothing but its network: trial 1, score +0.0300.",
        "Trial 0 reaches 62% of what perfect foresight allows, +0.0800.",
        "Better without any learning: MPC: learned forecast, score +0.0600.",
    ]


def test_a_trial_that_ran_through_further_weeks_is_compared_over_those_of_the_others(tmp_path: Path) -> None:
    few, further = (made.evaluation(0, made.BUDGET, score, ev_served=0.9, ev_required_kwh=10.0) for score in (0.05, 0.2))
    more = {**further, "hours": 9000, "further": True}
    alone = [{**few, "trial": 1, "score": 0.02}, {**more, "trial": 1, "score": 0.1}]
    results = made.tables(
        tmp_path, [planned(0, 0.185, 0.04), made.row(1, 0.09)], evaluations=[few, more, *alone, *controllers()]
    )
    scores = beside_yardsticks(results).set_index("name")["score"]
    assert scores["trial 0"] == 0.05
    assert scores["trial 1, the best that acts alone"] == 0.02
    first, second, third, _ = yardstick_lines(results)
    assert second.endswith("trial 1, score +0.0200.")
    assert first.endswith("what its policy learned adds +0.0100.")
    assert third.startswith("Trial 0 reaches 62% of")


def better(folder: Path, served: float, **settings: Any) -> tuple[str, str] | None:
    """The controller that is better than a trial, where model predictive control serves so much of the vehicles' energy."""
    made.settle(folder, **settings)
    rows = controllers()
    for row in rows:
        row |= {"peak_kw": 9.0, "bill": 3.0} | ({"ev_served": served} if row["contender"].startswith("MPC") else {})
    trial = {**made.evaluation(0, made.BUDGET, 0.05, ev_served=0.9, ev_required_kwh=10.0), "peak_kw": 8.0, "bill": 4.0}
    return better_controller(made.tables(folder, [made.row(0, 0.05)], evaluations=[trial, *rows]))


def test_a_controller_that_misses_what_a_winner_meets_or_is_worse_by_the_aim_is_not_better(tmp_path: Path) -> None:
    assert better(tmp_path / "a", 0.9) == ("MPC: learned forecast", "score +0.0600")
    assert better(tmp_path / "b", 0.8) is None
    assert better(tmp_path / "c", 0.8, require=["ev_served>=0.7"]) is not None
    assert better(tmp_path / "d", 0.8, require=["ev_served>=0.85"]) is None
    assert better(tmp_path / "e", 0.9, objective="peak_kw") is None, "8 kW is less than 9"
    assert better(tmp_path / "f", 0.9, objective="peak_kw bill") is None, "better in one of two alone"
    assert better(tmp_path / "g", 0.9, objective="bill score") == ("MPC: learned forecast", "bill 26.3, score +0.0600")


def test_a_rule_may_be_better_too_where_no_model_predictive_control_ran(tmp_path: Path) -> None:
    rows = [row for row in controllers() if not row["contender"].startswith("MPC")]
    results = searched(tmp_path, [made.row(0, 0.03)], rows)
    assert yardstick_lines(results)[-1] == "Better without any learning: rule: good, score +0.0400."


@pytest.mark.parametrize(("score", "said"), [(0.07, "adds +0.0200"), (0.05001, "adds nothing"), (0.04, "loses 0.0100")])
def test_what_a_policy_adds_to_its_plan_is_said(tmp_path: Path, score: float, said: str) -> None:
    results = searched(tmp_path, [planned(0, score, 0.05)], controllers())
    first, second, *_ = yardstick_lines(results)
    assert first.endswith(f"what its policy learned {said}.")
    assert second == "Best that acts alone, and needs nothing but its network: none has ended."
    assert best_alone(results) is None


def test_where_a_row_does_not_say_what_its_plan_scores_nothing_is_said_of_it(tmp_path: Path) -> None:
    results = searched(tmp_path, [planned(0, 0.05, math.nan)], controllers())
    assert not any("plan of trial" in name for name in beside_yardsticks(results)["name"])
    assert yardstick_lines(results)[0].startswith("Best that acts alone")


@pytest.mark.parametrize(("served", "told"), [(0.2, True), (0.86, False)])
def test_a_bound_that_leaves_vehicles_empty_is_told_so(tmp_path: Path, served: float, told: bool) -> None:
    rows = [{**row, "ev_served": served} if row["contender"] == "bound of score" else row for row in controllers()]
    (line, *_) = yardstick_lines(searched(tmp_path, [made.row(0, 0.05)], rows))
    assert (f", +0.0800, which serves {served:.1%} of the vehicle energy." in line) is told


@pytest.mark.parametrize(("served", "reaches"), [(0.9, True), (0.5, False)])
def test_what_serves_vehicles_is_compared_with_the_bound_of_what_serves_them(
    tmp_path: Path, served: float, reaches: bool
) -> None:
    limit = {**controllers()[-2], "contender": SERVED_BOUND, "score": 0.07, "ev_served": 0.86}
    results = searched(tmp_path, [made.row(0, 0.0771)], [*controllers(), limit])
    rows = results.evaluations
    rows.loc[rows["trial"] == 0, "ev_served"] = served
    table = beside_yardsticks(results).set_index("name")
    assert table.loc["MPC: learned forecast", "of_bound"] == pytest.approx(0.06 / 0.07)
    assert "bound of score" not in table.index
    assert table["of_bound"].isna().to_dict()["trial 0"] is not reaches
    assert ("reaches 110% of what perfect foresight allows, +0.0700" in " ".join(yardstick_lines(results))) is reaches


def test_what_is_aimed_at_stands_beside_the_score_of_each(tmp_path: Path) -> None:
    results = searched(
        tmp_path, [made.row(0, 0.05)], [{**row, "bill": 365.0 * place} for place, row in enumerate(controllers())]
    )
    bill = results.measures["bill"]
    table = beside_yardsticks(results, [bill])
    for name in table["name"]:
        own = results.yardsticks[results.yardsticks["contender"] == name]
        if len(own):
            assert table.set_index("name").loc[name, "bill"] == pytest.approx(bill.value(own))
    assert table["bill"].notna().sum() >= 3
    assert "bill" not in beside_yardsticks(results)


def test_in_an_environment_all_stand_by_the_same_episodes(tmp_path: Path) -> None:
    of_env: Row = {"backend": "gymnasium", "hours": None}
    own = [made.evaluation(0, made.BUDGET, score, year=year, **of_env) for year, score in enumerate((1.0, 3.0, 8.0))]
    own[2]["further"] = True
    random = [{**made.evaluation(0, 0, 1.0, year=year, contender="random actions", **of_env), "trial": None} for year in (0, 1)]
    table = beside_yardsticks(made.tables(tmp_path, [made.row(0, 4.0)], evaluations=[*own, *random])).set_index("name")
    assert table["score"].to_dict() == {"trial 0": 2.0, "random actions": 1.0}, "the third is a further one of the best alone"


def test_a_policy_above_the_bound_is_no_triumph(tmp_path: Path) -> None:
    results = searched(tmp_path, [made.row(0, 0.09)], controllers())
    (line,) = yardstick_lines(results)
    assert line.startswith("Internal consistency failed: trial 0 scores +0.090000, above the bound of +0.080000")


def test_without_yardsticks_nothing_stands_beside(tmp_path: Path) -> None:
    results = searched(tmp_path, [made.row(0, 0.09)], [])
    assert beside_yardsticks(results).empty
    assert yardstick_lines(results) == []
    assert beside_yardsticks(searched(tmp_path, [], controllers())).empty
