"""Which trials analysis takes, which one is the default, and which hyperparameters were searched."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from results import Results, analysis
from results.analysis import effects
from results.analysis.searched import default_trial, ranges_of, searched
from results.experiment_file import Facts
from tests.results.made import reports, row, search, settle, tables

PLAIN = [getattr(analysis, name) for name in analysis.__all__ if name not in ("compare", "pareto_front")]


def everything(results: Results) -> dict[str, Any]:
    """What each function says of an experiment."""
    found: dict[str, Any] = {function.__name__: function(results) for function in PLAIN}
    found["compare"] = analysis.compare([results])
    if "co2_kg" in results.evaluations:
        found["pareto_front"] = analysis.pareto_front(results, ["co2_kg", "bill"])
    return found


def test_confirmations_repeats_and_trials_without_a_rating_do_not_count(tmp_path: Path) -> None:
    trials = [
        row(0, 0.1), row(1, None, "failed"), row(2, 0.2, "frozen"), row(3, 0.1, same_as=0), row(4, np.inf),
        row(5, 0.9, confirms=2, confirm_run=0, confirm_role="best"), row(6, 0.3, rating=-7.0), row(7, 0.4, "pruned"),
    ]  # fmt: skip
    own = searched(tables(tmp_path, trials))
    assert own["trial"].tolist() == [0, 2, 6, 7]
    assert own["rating"].tolist() == [0.1, 0.2, -7.0, 0.4]


def test_the_default_is_the_trial_of_its_start_or_the_one_that_confirmations_name(tmp_path: Path) -> None:
    results = tables(tmp_path, [row(0, 0.1), row(1, 0.2)])
    assert default_trial(results) is None  # without settings
    settle(tmp_path, start_from=["wide", "default"])
    assert default_trial(results) == 1
    settle(tmp_path, start_from=["wide"])
    assert default_trial(results) is None
    settle(tmp_path, preset="default", start_from=[])
    assert default_trial(results) == 0
    settle(tmp_path, start_from=["a", "b", "default"])
    assert default_trial(results) is None  # it has not begun
    again = row(2, 0.1, confirms=1, confirm_run=0, confirm_role="default")
    assert default_trial(tables(tmp_path, [row(0, 0.1), row(1, 0.2), again])) == 1


def test_without_settings_ranges_are_what_was_tried(tmp_path: Path) -> None:
    trials = searched(tables(tmp_path, [row(number, 0.1) for number in range(6)]))
    found = ranges_of(trials, Facts())
    assert found["learning_rate"].low == trials["hp_learning_rate"].min()
    assert found["learning_rate"].log
    assert found["shared_policy"].choices == ("False", "True")
    alike = tables(tmp_path, [row(0, 0.1, hp_gamma=0.9), row(1, 0.1, hp_gamma=0.9)])
    assert "gamma" not in ranges_of(searched(alike), Facts())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return everything(search(tmp_path_factory.mktemp("whole"), 12))


@pytest.mark.parametrize(
    ("trials", "settled"),
    [
        ([], True),
        ([], False),
        ([row(0, 0.1)], True),
        ([row(0, 0.1), row(1, 0.2)], False),
        ([row(0, 0.1), row(1, 0.2)], True),
        ([row(0, None, "failed"), row(1, None, "oom")], True),
        ([row(number, 0.1 * number, "frozen") for number in range(9)], True),
        ([row(number, 0.1) for number in range(9)], False),
        ([row(0, 0.1, "running"), row(1, None, "running")], True),
    ],
    ids=["none", "unsettled", "one", "two", "two-settled", "failed", "frozen", "equal", "running"],
)
def test_an_experiment_of_any_size_has_an_answer_with_the_same_columns(
    trials: list[dict[str, Any]], settled: bool, whole: dict[str, Any], tmp_path: Path
) -> None:
    if settled:
        settle(tmp_path)
    reported = [own for each in trials if each["score"] for own in reports(each["trial"], each["score"])]
    for name, found in everything(tables(tmp_path, trials, reported)).items():
        if hasattr(whole[name], "columns"):
            assert [*found.columns] == [*whole[name].columns], name
            assert found.empty or name == "leaderboard" or found.dtypes.to_dict() == whole[name].dtypes.to_dict(), name


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


@pytest.mark.parametrize(
    ("name", "best", "other", "edge"),
    [
        ("gamma", 0.9005, 0.999, "lower"),
        ("learning_rate", 1e-2, 1e-3, "beyond the upper"),  # a start may lie outside of the range
        ("learning_rate", 0.0, 1e-3, ""),  # no range could hold it
    ],
)
def test_only_the_best_is_at_an_edge(tmp_path: Path, name: str, best: float, other: float, edge: str) -> None:
    settle(tmp_path)
    found = effects(tables(tmp_path, [row(0, 0.5, **{f"hp_{name}": best}), row(1, 0.3, **{f"hp_{name}": other})]))
    assert found.loc[found["hyperparameter"] == name, "at_edge"].tolist() == [edge, ""]
