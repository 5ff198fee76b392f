"""SAC's networks."""

import numpy as np
import pytest
import torch

from tests.tuning.algorithms.match import FEATURES
from tests.tuning.algorithms.sac.sac_small import built
from tuning.algorithms.networks.layers import ACTIVATIONS
from tuning.algorithms.sac.module import LOG_STD_MAX, LOG_STD_MIN

pytestmark = pytest.mark.usefixtures("small_ray")


@pytest.mark.parametrize("activation", ["tanh", "relu", "silu"])
def test_networks_have_the_configured_layers(activation: str) -> None:
    with built(hidden_sizes="8,24,12", activation=activation) as trainer:
        network = trainer.learner.network
        assert [tuple(weight.shape) for weight in network.critics.weights] == [(2, 4, 8), (2, 8, 24), (2, 24, 12), (2, 12, 1)]
        linear = [tuple(layer.weight.shape) for layer in network.policy_layers if hasattr(layer, "weight")]
        assert [*linear, tuple(network.policy_head.weight.shape)] == [(8, 3), (24, 8), (12, 24), (2, 12)]
        kinds = [type(layer) for layer in network.policy_layers if not hasattr(layer, "weight")]
        assert kinds == [ACTIVATIONS[activation]] * 3
        assert type(network.critics.activation) is ACTIVATIONS[activation]


def test_chargers_share_networks_that_do_not_mind_their_order() -> None:
    with built(chargers=3) as trainer:
        network = trainer.learner.network
        observations, actions, order = torch.randn(5, FEATURES + 3), torch.rand(5, 4), [2, 0, 1]
        swapped, moved = observations.clone(), actions.clone()
        swapped[:, FEATURES:] = observations[:, [FEATURES + i for i in order]]
        moved[:, 1:] = actions[:, [1 + i for i in order]]
        with torch.no_grad():
            torch.testing.assert_close(network.critics(swapped, moved), network.critics(observations, actions))
            # But who does what counts.
            assert not torch.allclose(network.critics(observations, moved), network.critics(observations, actions))
            torch.testing.assert_close(network.act(swapped), network.act(observations)[:, [0, *[1 + i for i in order]]])


@pytest.mark.parametrize("chargers", [0, 2])
def test_log_std_init_is_the_deviation_that_actions_begin_with(chargers: int) -> None:
    for log_std in (0.0, -3.0):
        with built(chargers=chargers, log_std_init=log_std) as trainer:
            network = trainer.learner.network
            with torch.no_grad():
                _, found = network.parameters_of_distribution(torch.rand(50, FEATURES + chargers) - 0.5)
        np.testing.assert_allclose(found.mean(dim=0), log_std, atol=0.8)


def test_log_probabilities_are_those_of_the_squashed_distribution() -> None:
    with built() as trainer:
        network = trainer.learner.network
        observations, noise = torch.randn(200, 3), torch.randn(200, 1)
        with torch.no_grad():
            actions, logp = network.draw_actions(observations, noise)
            mean, log_std = network.parameters_of_distribution(observations)
            normal = torch.distributions.Normal(mean.double(), log_std.double().exp())
            squashed = torch.distributions.TransformedDistribution(normal, torch.distributions.TanhTransform())
            expected = squashed.log_prob(actions.double()).sum(dim=-1)
            inner = actions.abs().squeeze() < 0.99
            torch.testing.assert_close(logp[inner].double(), expected[inner], rtol=1e-3, atol=1e-3)
            torch.testing.assert_close(actions, network.act(observations, noise))
            # Where the tangent is 1 to all digits, too.
            network.policy_head.bias.fill_(40.0)
            actions, logp = network.draw_actions(observations, noise)
            assert (actions == 1.0).all()
            assert logp.isfinite().all()
            network.policy_head.bias.fill_(-1e4)
            _, lowest = network.parameters_of_distribution(observations)
            network.policy_head.bias.fill_(1e4)
            _, highest = network.parameters_of_distribution(observations)
    assert (lowest == LOG_STD_MIN).all()
    assert (highest == LOG_STD_MAX).all()
