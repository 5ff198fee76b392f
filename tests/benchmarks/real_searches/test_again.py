"""A winner is trained again with exactly its hyperparameters, for exactly its steps."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.real_searches.again import Best, fresh_seed, score_again
from tuning.trial.records import trial_seed


def test_seeds_of_the_judgement_differ_among_each_other_and_from_those_of_searches() -> None:
    fresh = [fresh_seed(search, run) for search in range(20) for run in range(10)]
    searched = {trial_seed(search, number, run) for search in range(20) for number in range(100) for run in (None, number)}
    assert len(set(fresh)) == len(fresh)
    assert not set(fresh) & searched


def test_the_policy_counts_that_validation_rates_best_and_of_equal_ones_the_later() -> None:
    best = Best()
    for validation, test in ((1.0, 10.0), (3.0, 30.0), (2.0, 20.0), (3.0, 31.0)):
        best.add(validation, lambda test=test: test)  # type: ignore[misc]
    assert best.test == 31.0


@pytest.mark.slow
def test_sb3_with_the_seed_of_its_search_is_the_policy_that_was_evaluated_there(small_schema: Path, tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    from benchmarks.real_searches import sb3_search
    from benchmarks.real_searches.records import Task, Terms

    terms = Terms(8.0, 2000, 3, 1, 1)
    task = Task(str(small_schema), 5, terms, tmp_path)
    found = sb3_search.search(task)
    study = sb3_search._study(tmp_path / sb3_search.JOURNAL, task, 0)
    (best,) = (trial for trial in study.trials if found.score in trial.intermediate_values.values())
    assert found.hyperparameters == best.params
    seed = best.user_attrs[sb3_search.SEED]
    assert score_again(str(small_schema), found, seed, "validation", 1) == found.score
    assert score_again(str(small_schema), replace(found, steps=found.steps + 8 * 2048), seed, "validation", 1) != found.score


@pytest.mark.slow
def test_ours_with_the_seed_of_its_trial_is_the_policy_that_was_evaluated_there(small_schema: Path, tmp_path: Path) -> None:
    from benchmarks.real_searches.experiments import best_evaluated
    from tuning.experiment.settings import Settings
    from tuning.runtime.ray_session import ray_session
    from tuning.search.tune import tune

    settings = Settings(
        scenario=str(small_schema), steps=6000, evaluations=3, validation_weeks=1, trials=1, scheduler="none",
        dir=str(tmp_path), start_from=(), seed=4, concurrency=1,
    )  # fmt: skip
    with ray_session(num_cpus=1):
        results = tune(settings)
        found = best_evaluated(results.folder)
        assert score_again(str(small_schema), found, trial_seed(4, 0), "validation", 1) == found.score
