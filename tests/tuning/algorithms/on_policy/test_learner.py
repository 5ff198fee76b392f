"""What PPO and A2C share in learning: schedules, losses, gradients, numbers that are not finite."""

from typing import Any

import numpy as np
import pytest
import torch
from ray.rllib.algorithms.ppo import PPOConfig as RLlibConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from tests.tuning.algorithms.memory_checks import assignment, living, trainer
from tests.tuning.algorithms.on_policy.small import ALGOS, built, gradient, made_up, watched
from tuning.algorithms.errors import DivergedError
from tuning.algorithms.on_policy.a2c import A2CConfig, A2CLearner
from tuning.algorithms.on_policy.learner import VALUE_ROWS, OnPolicyConfig
from tuning.algorithms.on_policy.module import ActorCriticModule
from tuning.algorithms.on_policy.ppo import PPOConfig, PPOLearner
from tuning.algorithms.sampling.preprocessing import Preprocessing
from tuning.algorithms.schedule import Schedule


def test_a_copy_has_the_same_settings_and_the_class_keeps_its_own() -> None:
    config = PPOConfig()
    config.learning_rate = Schedule(0.1, "linear", 0.5, 100)
    config.preprocessing, config.parts, config.clip_range_vf = Preprocessing(clip_obs=2.0), 3, 0.2
    copied = config.copy()
    assert isinstance(copied, PPOConfig)
    assert (copied.learning_rate, copied.preprocessing) == (config.learning_rate, config.preprocessing)
    assert (copied.parts, copied.clip_range_vf) == (3, 0.2)
    assert (OnPolicyConfig.parts, PPOConfig.clip_range_vf) == (1, None)


def test_each_algorithm_has_its_learner() -> None:
    assert PPOConfig().get_default_learner_class() is PPOLearner
    assert A2CConfig().get_default_learner_class() is A2CLearner


def test_a2c_takes_one_epoch_without_minibatches_or_penalty() -> None:
    config = A2CConfig()
    assert (config.num_epochs, config.minibatch_size, config.use_kl_loss) == (1, None, False)


pytestmark = pytest.mark.usefixtures("small_ray")


@pytest.mark.parametrize("algo", ALGOS)
@pytest.mark.parametrize("shape", ["constant", "linear", "exponential", "cosine"])
def test_the_optimizer_has_the_scheduled_learning_rate_at_each_step(algo: str, shape: str) -> None:
    with built(algo, learning_rate=0.01, learning_rate_schedule=shape, learning_rate_final=0.1, steps=512) as trained:
        seen = watched(trained)
        for _ in range(5):
            before = len(seen)
            result = trained.algorithm.train()
            expected = trained.learner.config.learning_rate.value(result["num_env_steps_sampled_lifetime"])
            assert {step["lr"] for step in seen[before:]} == {expected}
            assert trained.losses(result)["learning_rate"] == pytest.approx(expected)
        assert seen[-1]["lr"] == pytest.approx(0.01 if shape == "constant" else 0.001)


@pytest.mark.parametrize("algo", ALGOS)
def test_a_larger_entropy_coefficient_weighs_the_entropy_more(algo: str) -> None:
    totals = {}
    for coefficient in (0.0, 0.5):
        with built(algo, ent_coef=coefficient) as trained:
            batch = made_up()(trained)
            inputs, values = trained.learner.network._forward({"obs": batch.observations})["action_dist_inputs"], batch.values
            loss = trained.learner.loss(batch, inputs, values)
            totals[coefficient] = float(loss.total.detach())
            entropy = float(loss.terms["entropy"])
    assert totals[0.0] - totals[0.5] == pytest.approx(0.5 * entropy, rel=1e-4)


@pytest.mark.parametrize("algo", ALGOS)
def test_the_entropy_coefficient_follows_its_schedule(algo: str) -> None:
    with built(algo, ent_coef=0.1, ent_coef_schedule="linear", ent_coef_final=0.5, steps=256) as trained:
        for _ in range(3):
            result = trained.algorithm.train()
            steps = min(result["num_env_steps_sampled_lifetime"], 256)
            assert trained.learner.entropy_coefficient == pytest.approx(0.1 * (1.0 - 0.5 * steps / 256))


@pytest.mark.parametrize("algo", ALGOS)
def test_vf_coef_weighs_the_value_loss(algo: str) -> None:
    norms = {}
    for coefficient in (0.0, 0.5, 1.0):
        with built(algo, vf_coef=coefficient) as trained:
            norms[coefficient] = gradient(trained, made_up()(trained))["value"]
    assert norms[0.0] == 0.0
    assert norms[1.0] == pytest.approx(2.0 * norms[0.5], rel=1e-4)


@pytest.mark.parametrize("algo", ALGOS)
def test_gradients_are_cut_to_max_grad_norm(algo: str) -> None:
    for cut in (None, 1e-3):
        with built(algo, max_grad_norm=cut) as trained:
            seen = watched(trained)
            losses = trained.losses(trained.algorithm.train())
            norm = max(step["norm"] for step in seen)
            assert norm <= cut * (1 + 1e-4) if cut else norm > 0.01
            # What is reported is the norm before the cut.
            assert losses["gradient_norm"] > 0.01


@pytest.mark.parametrize("algo", ALGOS)
def test_advantages_are_normalised_or_not(algo: str) -> None:
    for normalize in (True, False):
        with built(algo, normalize_advantage=normalize) as trained:
            batch = made_up()(trained)
            batch.advantages = torch.linspace(3.0, 5.0, len(batch))
            weights = trained.learner.weights(batch)
        if normalize:
            assert abs(float(weights.mean())) < 1e-5
            assert float(weights.std()) == pytest.approx(1.0, rel=1e-4)
        else:
            assert torch.equal(weights, batch.advantages)


@pytest.mark.parametrize(("gamma", "gae_lambda"), [(0.99, 0.95), (0.8, 1.0), (0.9, 0.0)])
def test_a_rollout_is_what_rllibs_pipeline_makes_of_it(gamma: float, gae_lambda: float) -> None:
    with built("ppo", gamma=gamma, gae_lambda=gae_lambda, n_steps=96) as trained:
        theirs = RLlibConfig().training(gamma=gamma, lambda_=gae_lambda).learners(num_learners=0)
        model = trained.learner.network.model_config
        theirs.rl_module(rl_module_spec=RLModuleSpec(module_class=ActorCriticModule, model_config=model))
        env = trained.runner.env
        learner = theirs.build_learner(spaces={DEFAULT_MODULE_ID: (env.single_observation_space, env.single_action_space)})
        learner.module[DEFAULT_MODULE_ID].set_state(trained.learner.network.get_state())
        for _ in range(3):
            episodes = trained.runner.sample()
            ours = trained.learner.make_batch(episodes)
            pipeline = learner._learner_connector(
                rl_module=learner.module, batch={}, episodes=episodes, shared_data={}, metrics=learner.metrics
            )[DEFAULT_MODULE_ID]
            # RLlib adds a step to each chunk, which it masks afterwards.
            real = pipeline["loss_mask"]
            names = {"observations": "obs", "actions": "actions", "logp": "action_logp", "inputs": "action_dist_inputs"}
            for mine, other in names.items():
                assert torch.equal(getattr(ours, mine), pipeline[other][real]), mine
            np.testing.assert_allclose(ours.targets, pipeline["value_targets"][real], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("algo", ALGOS)
def test_bf16_is_the_precision_of_learning_and_starts_from_a_ratio_of_one(algo: str) -> None:
    for bf16 in (False, True):
        with built(algo, bf16=bf16, **({"n_epochs": 1, "batch_size": 128} if algo == "ppo" else {})) as trained:
            kinds: list[Any] = []
            trained.learner.network.policy_layers[0].register_forward_hook(lambda *_, k=kinds: k.append(_[2].dtype))
            trained.runner.sample()
            acted = set(kinds)
            kinds.clear()
            result = trained.algorithm.train()
            # The env runner's own networks are another matter: they act in float32.
            assert (torch.bfloat16 in kinds) is bf16
            assert torch.bfloat16 not in acted
            weights = trained.learner.network.policy_layers[0].weight
            assert weights.dtype == weights.grad.dtype == torch.float32
            if algo == "ppo":
                assert result["learners"]["default_policy"]["ratio"] == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("algo", ALGOS)
def test_numbers_that_are_not_finite_end_the_trial_with_a_remedy(algo: str) -> None:
    with built(algo) as trained:
        with torch.no_grad():
            trained.learner.network.value_head.weight[:] = float("nan")
        with pytest.raises(DivergedError, match="lower learning_rate"):
            trained.algorithm.train()


def test_values_are_computed_over_no_more_rows_than_the_prediction_says(monkeypatch: pytest.MonkeyPatch) -> None:
    trained: Any = trainer("ppo", assignment("ppo", n_steps=1024))
    try:
        learner, rows = trained.learner, []
        inner = learner.network.compute_values
        monkeypatch.setattr(learner.network, "compute_values", lambda batch: rows.append(len(batch["obs"])) or inner(batch))
        learner._values(torch.zeros((2 * VALUE_ROWS + 1, trained.runner.env.single_observation_space.shape[0])))
        assert rows == [VALUE_ROWS, VALUE_ROWS, 1]
    finally:
        trained.stop()


def test_an_update_keeps_nothing_of_its_single_steps() -> None:
    with built("ppo", batch_size=32, n_epochs=5, clip_range_vf=0.2, target_kl=1e9) as trained:
        optimizer, counts = trained.learner.optimizer, list[int]()
        step = optimizer.step

        def watch() -> None:
            step()
            counts.append(living())

        optimizer.step = watch
        trained.algorithm.train()
        assert len(counts) == 20
        assert len(set(counts[2:])) == 1  # the first two begin the sums
