"""PPO and A2C begin as what a teacher shows, with its values, and go on from there."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from envs.environments.year_cache import district, observation_layout
from envs.objective.evaluate import evaluate, score
from envs.scenarios.scenario import scenario
from envs.task import Task
from envs.yardsticks.lessons import lessons
from envs.yardsticks.mpc_runs import mpc
from tests.tuning.algorithms.imitation.shown import answers
from tests.tuning.algorithms.match import mean_return
from tests.tuning.algorithms.on_policy.small import ALGOS, built
from tuning.algorithms.on_policy.imitation import LOG_STD
from tuning.algorithms.registry import algorithm
from tuning.algorithms.trainer import Setup

pytestmark = pytest.mark.usefixtures("small_ray")


@pytest.mark.parametrize("algo", ALGOS)
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
        trained.begin_as([answers()])
        assert mean_return(trained) > 0.97
        inputs = trained.learner.network._forward({"obs": torch.randn(5, 3)})["action_dist_inputs"]
        assert (inputs[:, 1] == min(LOG_STD, others.get("log_std_init", 0.0))).all()


def test_a_seed_gives_the_same_copy() -> None:
    states = []
    for seed in (3, 3, 4):
        with built("ppo", seed=seed) as trained:
            trained.begin_as([answers()])
            states.append(torch.cat([p.detach().flatten() for p in trained.learner.network.parameters()]))
    assert torch.equal(states[0], states[1])
    assert not torch.equal(states[0], states[2])


@pytest.mark.slow
@pytest.mark.parametrize(("algo", "buildings"), [("ppo", False), ("ppo", True), ("a2c", False), ("sac", True)])
def test_a_copy_scores_near_its_teacher(small_schema: Path, four_buildings: Path, algo: str, buildings: bool) -> None:
    name = str(four_buildings if buildings else small_schema)
    site = scenario(name)
    validation = site.windows("validation")
    spec = algorithm(algo)
    given = spec.space.complete({"shared_policy": buildings, "gamma": 0.95}, {"steps": 100_000.0})
    chargers = observation_layout(site).chargers
    trained = spec.build(
        Setup(
            given, Task(name).training_env, 8, 100_000, 3, False, chargers, 1, district(site),
            taught=True,
        )
    )  # fmt: skip
    trained.imitate(lessons(Task(name), method="seven-days"))
    copy = score(evaluate(Task(name).evaluation_env(validation), trained.policy()))
    trained.stop()
    teacher = score(mpc(site, validation, "seven-days"))
    assert copy > 0.6 * teacher > 0.0
