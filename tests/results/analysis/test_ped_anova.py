"""Importance finds the hyperparameter that decides, and is Optuna's measure."""

from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.importance import PedAnovaImportanceEvaluator

from results.analysis import importance
from results.analysis.ped_anova import _divergences, _points, settled
from results.experiment_file import Range
from tests.results.made import row, search, settle, tables


def test_the_hyperparameter_that_decides_comes_first_and_others_are_within_chance(tmp_path: Path) -> None:
    found = importance(search(tmp_path, 40, noise=0.01)).set_index("hyperparameter")
    assert found.index[0] == "shared_policy"
    assert found.loc["shared_policy", "beyond_chance"]
    assert found.loc["shared_policy", "importance"] > 0.5
    assert found["importance"].sum() == pytest.approx(1.0)
    assert ((found["low"] <= found["importance"]) & (found["importance"] <= found["high"])).all()
    assert (found["trials"] == 40).all()
    assert (found["best_trials"] == 10).all()


def test_without_any_effect_few_exceed_chance(tmp_path: Path) -> None:
    found = [importance(search(tmp_path / str(n), 40 + n, lambda _: 0.0, noise=1.0, seed=n), 100) for n in range(4)]
    assert sum(own["beyond_chance"].sum() for own in found) <= 3  # of 20, each with 5 %


@pytest.mark.filterwarnings("ignore")
def test_values_are_those_of_optunas_evaluator(tmp_path: Path) -> None:
    settle(tmp_path)
    random = np.random.default_rng(1)
    study = optuna.create_study(direction="maximize")
    ranges = {
        "learning_rate": (Range("learning_rate", 3e-5, 3e-3, log=True), FloatDistribution(3e-5, 3e-3, log=True)),
        "gamma": (Range("gamma", 0.9, 0.99), FloatDistribution(0.9, 0.99)),
        "n_steps": (Range("n_steps", 3, 14, whole=True), IntDistribution(3, 14)),
        "shared_policy": (Range("shared_policy", choices=("False", "True")), CategoricalDistribution([False, True])),
    }
    rows = []
    for number in range(100):
        given = {"learning_rate": float(10 ** random.uniform(-4.5, -2.53)), "gamma": float(random.uniform(0.9, 0.99))}
        given |= {"n_steps": int(random.integers(3, 15)), "shared_policy": bool(random.random() < 0.4)}
        score = -abs(np.log10(given["learning_rate"]) + 3.5) + 0.3 * given["shared_policy"] + 0.1 * float(random.random())
        distributions = {name: own for name, (_, own) in ranges.items()}
        study.add_trial(optuna.trial.create_trial(params=given, distributions=distributions, value=score))
        rows.append(row(number, score, **{f"hp_{name}": value for name, value in given.items()}))
    expected = PedAnovaImportanceEvaluator().evaluate(study)
    trials = tables(tmp_path, rows).trials.sort_values("score", ascending=False)
    order = np.arange(100)[np.newaxis]
    for name, (own, _) in ranges.items():
        # Optuna's have the square of the best part as a factor, the same for all.
        assert _divergences(*_points(trials, own), order, 10)[0] * 0.1**2 == pytest.approx(expected[name], rel=1e-6), name


@pytest.mark.parametrize(("count", "told"), [(0, "0 rated trials"), (7, "7 rated trials")])
def test_a_few_trials_say_nothing_and_a_line_says_why(count: int, told: str, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=f"^importance is not known: {told}, and it takes 8$"):
        assert importance(search(tmp_path, count)).empty


def test_trials_without_a_difference_say_nothing_either(tmp_path: Path) -> None:
    alike = tables(tmp_path, [row(number, 0.5, hp_gamma=0.9 + number / 100) for number in range(9)])
    with pytest.warns(UserWarning, match=r"^importance is not known: .* or all ratings are alike$"):
        assert importance(alike).empty


def test_values_that_do_not_act_are_left_out(tmp_path: Path) -> None:
    trials = search(tmp_path, 20).trials
    own = Range("gamma", 0.9, 0.999, only_if=("shared_policy", ("True",)))
    points, number, is_choice = _points(trials, own)
    assert ((points == -1) == ~trials["hp_shared_policy"].astype(bool)).all()
    assert (number, is_choice) == (50, False)


def test_what_hardly_varied_is_told(tmp_path: Path) -> None:
    results = search(tmp_path, 24)
    assert "shared_policy" not in set(settled(results)["hyperparameter"])
    table = results.trials
    table["hp_shared_policy"] = table["trial"] >= 4
    found = settled(results).set_index("hyperparameter").loc["shared_policy"]
    assert (found["value"], found["trials"], found["of"]) == ("True", 20, 24)
