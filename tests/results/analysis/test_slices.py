"""Slices have the range of the search; coverage tells what was not tried."""

from pathlib import Path

import numpy as np
import pytest

from results.analysis import coverage, effects
from results.analysis.slices import value_at
from results.experiment_file import Range
from tests.results.made import row, search, settle, tables


def test_each_trial_has_its_place_in_the_range_of_the_search(tmp_path: Path) -> None:
    settle(tmp_path)
    trials = [row(0, 0.1, hp_learning_rate=3e-4), row(1, 0.3, hp_learning_rate=2.9e-3), row(2, 0.2, hp_learning_rate=1e-6)]
    found = effects(tables(tmp_path, trials))
    own = found[found["hyperparameter"] == "learning_rate"]
    assert own["position"].tolist()[:2] == pytest.approx([0.5, 0.9926], abs=1e-3)
    assert own["position"].iloc[2] < 0.0
    assert own[["low", "high"]].drop_duplicates().to_numpy().tolist() == [[3e-5, 3e-3]]
    assert own["at_edge"].tolist() == ["", "upper", ""]
    choices = found[found["hyperparameter"] == "shared_policy"]
    assert (choices["choices"] == 2).all()
    assert set(choices["label"]) <= {"True", "False"}
    assert choices[["low", "value"]].isna().all(axis=None)


def test_the_lower_edge_is_one_too_and_only_the_best_is_at_it(tmp_path: Path) -> None:
    settle(tmp_path)
    trials = [row(0, 0.5, hp_gamma=0.9005), row(1, 0.3, hp_gamma=0.999)]
    found = effects(tables(tmp_path, trials))
    assert found.loc[found["hyperparameter"] == "gamma", "at_edge"].tolist() == ["lower", ""]


def test_the_widest_gap_is_named_in_values(tmp_path: Path) -> None:
    settle(tmp_path)
    rates = [3e-5, 4e-5, 5e-5, 2e-3, 3e-3]
    trials = [row(n, 0.1, hp_learning_rate=rate, hp_shared_policy=False) for n, rate in enumerate(rates)]
    found = coverage(tables(tmp_path, trials)).set_index("hyperparameter")
    assert found.loc["learning_rate", ["gap_low", "gap_high"]].tolist() == pytest.approx([5e-5, 2e-3])
    assert found.loc["learning_rate", "gap"] == pytest.approx(np.log(40) / np.log(100))
    assert found.loc["learning_rate", "tried"] == pytest.approx(0.3)  # of ten parts the first two and the last
    assert found.loc["learning_rate", "expected"] == pytest.approx(1 - 0.9**5)
    assert found.loc["shared_policy", "untried"] == "True"
    assert found.loc["shared_policy", "tried"] == 0.5


def test_a_range_of_one_value_has_no_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(tmp_path)
    results = tables(tmp_path, [row(0, 0.1, hp_gamma=0.95), row(1, 0.2, hp_gamma=0.97)])
    one = {"gamma": Range("gamma", 0.95, 0.95), "learning_rate": Range("learning_rate", 3e-5, 3e-3, log=True)}
    monkeypatch.setattr("results.analysis.slices.ranges_of", lambda trials, facts: one)
    assert coverage(results)["hyperparameter"].tolist() == ["learning_rate"]


def test_a_whole_search_tries_all_parts(tmp_path: Path) -> None:
    results = search(tmp_path, 150)
    settle(tmp_path, steps=400_000)  # of fewer steps no rollout is drawn
    found = coverage(results).set_index("hyperparameter")
    assert (found.loc[["learning_rate", "gamma", "n_steps", "shared_policy"], "tried"] > 0.85).all()


@pytest.mark.parametrize(
    "own", [Range("a", 2.0, 8.0), Range("a", 1e-4, 1e-2, log=True), Range("a", 0.9, 0.999, log=True, from_one=True)]
)
def test_a_value_is_found_again_at_its_place(own: Range) -> None:
    import pandas as pd

    values = pd.Series([value_at(own, place) for place in (0.0, 0.3, 1.0)])
    assert own.positions(values) == pytest.approx([0.0, 0.3, 1.0])
    assert values.iloc[[0, 2]].tolist() == pytest.approx([own.low, own.high])
