"""A winner is trained again with exactly its hyperparameters, for exactly its steps."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import optuna
import pytest

from benchmarks.real_searches.again import fresh_seed, score_again
from benchmarks.real_searches.records import Winner
from benchmarks.real_searches.zoo import ppo_arguments, sampled
from tuning.algorithms.registry import algorithm
from tuning.algorithms.trainer import Setup, Update
from tuning.trial.records import trial_seed

DRAWN = sampled(
    optuna.trial.FixedTrial(
        {
            "batch_size": 32, "n_steps": 64, "clip_range": 0.3, "n_epochs": 5, "net_arch": "small", "activation_fn": "relu",
            "one_minus_gamma": 0.0123456789, "one_minus_gae_lambda": 0.043, "learning_rate": 7.7e-4, "ent_coef": 3.3e-6,
            "max_grad_norm": 1.234,
        }
    )  # type: ignore[arg-type]
)  # fmt: skip


class Recorded:
    """A trainer that notes what it was built from, and does nothing."""

    shares, view, planned = False, None, None

    def __init__(self) -> None:
        self.steps, self.stopped = 0, False

    def update(self) -> Update:
        self.steps += 512
        return Update(self.steps, {})

    def policy(self) -> Any:
        return lambda observations: np.zeros((len(observations), 5))

    def stop(self) -> None:
        self.stopped = True


def test_ours_has_its_assignment_its_steps_and_the_ends_of_its_schedules(
    small_schema: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[tuple[Setup, Recorded]] = []

    def build(setup: Setup) -> Any:
        built.append((setup, Recorded()))
        return built[-1][1]

    of = algorithm("ppo")
    monkeypatch.setattr("tuning.algorithms.registry.algorithm", lambda name: SimpleNamespace(build=build))
    own = {"learning_rate": 1.23e-4, "learning_rate_schedule": "linear", "gamma": 0.9512345678901}
    assignment = of.space.complete(own, {"steps": 9000.0})
    winner = Winner("ours", dict(assignment), 1300, 9000, 0.1, 1, 1, 1)
    rated = score_again(str(small_schema), winner, 77, "validation", 1)
    ((setup, trainer),) = built
    assert setup.hyperparameters == assignment
    assert (setup.steps, setup.seed, setup.gpu) == (9000, 77, False)
    assert (trainer.steps, trainer.stopped) == (1536, True)
    assert np.isfinite(rated)


def test_seeds_of_the_judgement_differ_among_each_other_and_from_those_of_searches() -> None:
    fresh = [fresh_seed(search, run) for search in range(20) for run in range(10)]
    searched = {trial_seed(search, number, run) for search in range(20) for number in range(100) for run in (None, number)}
    assert len(set(fresh)) == len(fresh)
    assert not set(fresh) & searched


def test_sb3_has_exactly_what_was_drawn_and_stops_at_its_steps(small_schema: Path) -> None:
    pytest.importorskip("stable_baselines3")
    from benchmarks.real_searches.sb3_training import COPIES, trained

    model = trained(str(small_schema), DRAWN, 3, 64 * COPIES + 80)
    given = ppo_arguments(DRAWN)
    for name in ("batch_size", "n_steps", "n_epochs", "ent_coef", "max_grad_norm", "gamma", "gae_lambda", "learning_rate"):
        assert getattr(model, name) == given[name], name
    assert model.clip_range(1.0) == DRAWN["clip_range"]  # type: ignore[operator]
    assert (model.seed, model.num_timesteps, model.n_envs) == (3, 64 * COPIES + 80, COPIES)
    assert [type(layer).__name__ for layer in model.policy.mlp_extractor.policy_net] == ["Linear", "ReLU"] * 2
    assert model.policy.mlp_extractor.policy_net[0].out_features == 64


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
