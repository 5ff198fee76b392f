"""The networks of PPO and A2C."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from tests.tuning.algorithms.match import FEATURES, MatchVectorEnv, built

pytestmark = pytest.mark.usefixtures("small_ray")
ALGOS = ("ppo", "a2c")


@pytest.mark.parametrize("algo", ALGOS)
def test_networks_are_as_described(algo: str) -> None:
    with built(algo, hidden_sizes="8,24", activation="silu", log_std_init=-1.5) as trained:
        network = trained.learner.network
        sizes = [layer.out_features for layer in network.value_layers if isinstance(layer, torch.nn.Linear)]
        assert sizes == [8, 24]
        assert sum(isinstance(layer, torch.nn.SiLU) for layer in network.policy_layers) == 2
        inputs = network._forward({"obs": torch.randn(5, FEATURES)})["action_dist_inputs"]
        assert (inputs[:, 1] == -1.5).all()
    with built(algo, state_dependent_std=True, log_std_init=-1.0, orthogonal_init=False) as trained:
        stds = trained.learner.network._forward({"obs": torch.randn(5, FEATURES)})["action_dist_inputs"][:, 1]
        assert stds.unique().numel() > 1
        assert abs(float(stds.detach().mean()) + 1.0) < 0.5
    for orthogonal in (True, False):
        with built(algo, orthogonal_init=orthogonal, hidden_sizes="16") as trained:
            weight = trained.learner.network.policy_layers[0].weight.detach()
            product = weight.T @ weight
            assert torch.allclose(product, 2.0 * torch.eye(FEATURES), atol=1e-5) is orthogonal


@pytest.mark.parametrize("algo", ALGOS)
@pytest.mark.parametrize("state_dependent_std", [False, True])
def test_chargers_share_a_network_that_does_not_mind_their_order(algo: str, state_dependent_std: bool) -> None:
    arguments: dict[str, Any] = {"chargers": 3, "state_dependent_std": state_dependent_std, "orthogonal_init": False}
    with built(algo, log_std_init=-1.0, **arguments) as trained:
        network = trained.learner.network
        observations = torch.randn(5, FEATURES + 3)
        order = [2, 0, 1]
        swapped = observations.clone()
        swapped[:, FEATURES:] = observations[:, [FEATURES + i for i in order]]
        one, other = (network._forward({"obs": given})["action_dist_inputs"].detach() for given in (observations, swapped))
        actions = [0, *[1 + i for i in order]]
        torch.testing.assert_close(other, one[:, [*actions, *[4 + i for i in actions]]])
        # They differ by their features, and every value hears of each of them.
        assert not torch.allclose(one[:, 1], one[:, 2])
        values = network.compute_values({"obs": observations}).detach()
        moved = observations.clone()
        moved[:, -1] += 1.0
        assert (network.compute_values({"obs": moved}).detach() != values).all()
        # Chargers of another kind can differ.
        with torch.no_grad():
            network.policy_head.chargers.own[:, 0] += 1.0
        assert not torch.allclose(network._forward({"obs": swapped})["action_dist_inputs"], other)


@pytest.mark.parametrize("algo", ALGOS)
def test_a_battery_hears_of_the_chargers_means_alone(algo: str) -> None:
    with built(algo, chargers=3) as trained:
        observations = torch.randn(5, FEATURES + 3)
        moved = observations.clone()
        moved[:, FEATURES:] = observations[:, FEATURES:].flip(1)
        moved[:, FEATURES] += 0.5
        moved[:, -1] -= 0.5
        one, other = (
            trained.learner.network._forward({"obs": given})["action_dist_inputs"].detach() for given in (observations, moved)
        )
        torch.testing.assert_close(one[:, 0], other[:, 0])
        assert not torch.allclose(one[:, 1:4], other[:, 1:4])


@pytest.mark.parametrize("algo", ALGOS)
def test_several_choices_at_once_are_drawn_alone_and_the_most_likely_of_each_is_the_mode(algo: str) -> None:
    space = gym.spaces.MultiDiscrete([3, 2])
    with built(algo, make_envs=lambda copies: Choices(copies, space), hidden_sizes="8") as trained:
        network = trained.learner.network
        observations = torch.randn(50, FEATURES)
        logits = network._forward({"obs": observations})["action_dist_inputs"]
        assert logits.shape == (50, 5)
        expected = torch.stack((logits[:, :3].argmax(dim=1), logits[:, 3:].argmax(dim=1)), dim=1)
        assert torch.equal(network.mode(observations), expected)
        drawn = trained.learner.distribution(logits)
        actions = drawn.sample()
        parts = [own.log_softmax(dim=1) for own in (logits[:, :3], logits[:, 3:])]
        alone = sum(part.gather(1, actions[:, [place]])[:, 0] for place, part in enumerate(parts))
        assert torch.allclose(drawn.logp(actions), alone, atol=1e-6)  # type: ignore[arg-type]
        rollout = trained.runner.collect(40)
        assert rollout.actions.shape == (len(rollout.rewards), 2)
        assert rollout.actions.dtype == np.int64
        trained.update()


class Choices(MatchVectorEnv):
    """The task with several choices, of which the first is compared."""

    def __init__(self, copies: int, space: gym.spaces.MultiDiscrete) -> None:
        super().__init__(copies)
        self.single_action_space, self.action_space = space, gym.vector.utils.batch_space(space, copies)

    def step(self, actions: np.ndarray) -> Any:
        return super().step((actions[:, :1] - 1.0).astype(np.float32))
