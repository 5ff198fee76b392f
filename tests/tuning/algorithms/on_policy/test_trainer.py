"""From hyperparameters to PPO and A2C and back: each is read back, acts, learns, and begins as what a teacher shows."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from envs.environments.year_cache import district, observation_layout
from envs.objective.evaluate import evaluate, score
from envs.scenarios.scenario import scenario
from envs.task import SiteTask
from envs.yardsticks.lessons import lessons
from envs.yardsticks.mpc_runs import mpc
from tests.tuning.algorithms.match import built, mean_return, train_to, watched
from tests.tuning.algorithms.shown import answers
from tuning.algorithms.on_policy.trainer import LOG_STD
from tuning.algorithms.registry import algorithm
from tuning.algorithms.trainer import Setup

pytestmark = pytest.mark.usefixtures("small_ray")
ALGOS = ("ppo", "a2c")


@pytest.mark.parametrize("algo", ALGOS)
def test_n_steps_is_what_is_collected_between_two_updates(algo: str) -> None:
    for n_steps in (64, 128):
        with built(algo, n_steps=n_steps, batch_size=32) as trained:
            seen = watched(trained.learner.optimizer)
            steps = [trained.algorithm.train()["num_env_steps_sampled_lifetime"] for _ in range(2)]
            assert n_steps <= steps[0] < n_steps + trained.num_envs
            assert 2 * n_steps <= steps[1] < 2 * (n_steps + trained.num_envs)
            assert len(seen) == 2 * (1 if algo == "a2c" else 2 * n_steps // 32)


@pytest.mark.parametrize("algo", ["ppo", pytest.param("a2c", marks=pytest.mark.slow)])
def test_a_site_with_chargers_is_learned(algo: str) -> None:
    fast: dict[str, Any] = {"learning_rate": 0.01, "gamma": 0.5, "steps": 8192, "initial_charging": 0.0}
    fast |= {"n_steps": 256, "batch_size": 64, "n_epochs": 5} if algo == "ppo" else {"n_steps": 64, "optimizer": "adam"}
    with built(algo, chargers=3, **fast) as trained:
        train_to(trained, 8192)
        # Actions of 0 would have 0.67.
        assert mean_return(trained, chargers=3) > (0.93 if algo == "ppo" else 0.8)


@pytest.mark.parametrize("algo", ALGOS)
def test_tf32_and_compiling_are_switched_on(algo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Any] = []

    def recorded(function: Any) -> Any:
        def call(*args: Any) -> Any:
            compiled.append(function.__name__)
            return function(*args)

        return call

    monkeypatch.setattr(torch, "compile", recorded)
    for on in (True, False):
        with built(algo, tf32=on, torch_compile=on) as trained:
            assert (torch.get_float32_matmul_precision() == "high") is on
            compiled.clear()
            trained.algorithm.train()
            assert bool(compiled) is on


@pytest.mark.parametrize(
    ("algo", "discrete"),
    [("ppo", False), ("a2c", True), *(pytest.param(*one, marks=pytest.mark.slow) for one in (("ppo", True), ("a2c", False)))],
)
def test_it_learns(algo: str, discrete: bool) -> None:
    fast = {"learning_rate": 0.01, "gamma": 0.5, "steps": 6144}
    fast |= {"n_steps": 256, "batch_size": 64, "n_epochs": 5} if algo == "ppo" else {"n_steps": 64, "optimizer": "adam"}
    with built(algo, discrete=discrete, **fast) as trained:
        before = mean_return(trained, discrete)
        train_to(trained, 6144)
        assert before < 0.75
        assert mean_return(trained, discrete) > 0.93


@pytest.mark.parametrize("algo", ["ppo", pytest.param("a2c", marks=pytest.mark.slow)])
def test_a_copy_does_what_was_shown_and_knows_what_it_is_worth(algo: str) -> None:
    with built(algo, gamma=0.0, log_std_init=0.0) as trained:
        assert mean_return(trained) < 0.9
        trained.begin_as([answers()])
        assert mean_return(trained) > 0.97
        network = trained.learner.network
        inputs = network._forward({"obs": torch.zeros(2, 3)})["action_dist_inputs"]
        assert inputs[:, 1].tolist() == [LOG_STD] * 2
        # With a discount of nothing, the value of an hour is its reward.
        shown = answers()
        seen = torch.from_numpy(trained.runner.preprocess()(shown.observations[:-1][shown.taken]))
        values = network.compute_values({"obs": seen}).detach().numpy()
        assert np.abs(values - shown.rewards[shown.taken]).mean() < 0.15
        # What acts is what was copied.
        for own, acting in zip(network.parameters(), trained.runner.module.parameters(), strict=True):
            assert torch.equal(own, acting)
        trained.update()
        assert mean_return(trained) > 0.95


@pytest.mark.parametrize("others", [{"state_dependent_std": True}, {"shared_layers": True}, {"log_std_init": -4.0}])
def test_its_deviations_are_small_however_they_are_made(others: dict[str, Any]) -> None:
    with built("ppo", **others) as trained:
        trained.begin_as([answers(runs=10)])
        assert mean_return(trained) > 0.97
        inputs = trained.learner.network._forward({"obs": torch.randn(5, 3)})["action_dist_inputs"]
        assert (inputs[:, 1] == min(LOG_STD, others.get("log_std_init", 0.0))).all()


@pytest.mark.slow
@pytest.mark.parametrize(("algo", "buildings"), [("ppo", False), ("ppo", True), ("a2c", False), ("sac", True)])
def test_a_copy_scores_near_its_teacher(
    small_schema: Path, four_buildings: Path, algo: str, buildings: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envs.yardsticks.lessons.METHOD", "seven-days")
    name = str(four_buildings if buildings else small_schema)
    site = scenario(name)
    validation = site.windows("validation")
    spec = algorithm(algo)
    given = spec.space.complete({"shared_policy": buildings, "gamma": 0.95}, {"steps": 100_000.0})
    chargers = observation_layout(site).chargers
    trained = spec.build(
        Setup(
            given, SiteTask(name).training_env, 8, 100_000, 3, False, chargers, 1, district(site),
            taught=True,
        )
    )  # fmt: skip
    trained.imitate(lessons(SiteTask(name)))
    copy = score(evaluate(SiteTask(name).evaluation_env(validation), trained.policy()))
    trained.stop()
    teacher = score(mpc(SiteTask(name), validation, "seven-days"))
    assert copy > 0.6 * teacher > 0.0
