"""The front has the trials that no other one beats, in the directions of the KPIs."""

from pathlib import Path

import pytest

from results import Results, ResultsError
from results.analysis import pareto_front
from results.analysis.front import gains
from tests.results.made import evaluation, row, search, settle, tables


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
    found, names = gains(tables(tmp_path, trials))
    assert names == ("co2", "bill")
    assert dict(zip(found["trial"], found["on_front"], strict=True)) == {1: True, 0: True, 2: False}


def test_a_search_with_one_objective_has_none(tmp_path: Path) -> None:
    found, names = gains(search(tmp_path, 3))
    assert found.empty
    assert names == ("score",)
