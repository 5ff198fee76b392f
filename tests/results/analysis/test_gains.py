"""Both gains of each trial, with the front."""

from pathlib import Path

from results.analysis.gains import gains
from tests.results.made import row, search, settle, tables


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
