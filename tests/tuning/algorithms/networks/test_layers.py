"""Layers, and the mode of a policy as one network."""

import numpy as np
import torch
from torch import nn

from envs.observation import ChargerGroups, Charging
from tuning.algorithms.networks.layers import ModeNetwork, SiteInputs, UncontrolledCharging
from tuning.algorithms.preprocessing import ObservationNormalizer, unscaled


def test_it_lies_between_idle_and_initial_charging_within_the_limit() -> None:
    groups = ChargerGroups(((1,), (2,)), (0, 2), (Charging(0.0, (1.0,), -1.0), Charging(0.5, (1.0,), 0.0)))
    each = torch.tensor([[[0.5, 0.0]], [[9.0, 9.0]], [[-9.0, -9.0]]])
    np.testing.assert_allclose(
        UncontrolledCharging(3, 0.8, groups)(each), [[-0.1, 0.0, 0.4], [0.8, 0.0, 0.8], [-1.0, 0.0, 0.0]], atol=1e-6
    )
    limited = UncontrolledCharging(3, 1.0, groups, limit=0.9)(each)
    np.testing.assert_allclose(limited[1:], [[0.9, 0.0, 0.9], [-0.9, 0.0, 0.0]], atol=1e-6)


def test_where_observations_do_not_tell_what_is_lacking_it_is_initial_charging() -> None:
    groups = ChargerGroups(((0,), (1,)), (0, 1))
    np.testing.assert_allclose(UncontrolledCharging(2, 0.7, groups)(torch.randn(4, 1, 2)), np.full((4, 2), 0.7), atol=1e-6)


def test_a_site_is_its_own_features_and_means_of_its_chargers() -> None:
    groups = ChargerGroups(((1, 2), (4, 5)), (1, 2))
    observations = torch.arange(12.0).reshape(2, 6)
    site, each = SiteInputs(6, groups)(observations)
    assert site.tolist() == [[0.0, 3.0, 2.5, 3.5], [6.0, 9.0, 8.5, 9.5]]
    assert each.tolist() == [[[1.0, 4.0], [2.0, 5.0]], [[7.0, 10.0], [8.0, 11.0]]]


OBSERVATIONS = torch.tensor([[1.0, -50.0], [3.0, 200.0]])


def test_observations_are_normalised_and_clipped_as_by_the_statistics() -> None:
    normalizer = ObservationNormalizer(2, 1.2)
    normalizer.update(np.array([[0.0, 100.0], [2.0, 300.0], [7.0, 0.0]], np.float32))
    frozen = normalizer.frozen
    network = ModeNetwork(frozen, nn.Identity(), lambda seen: seen)
    torch.testing.assert_close(network(OBSERVATIONS), torch.from_numpy(frozen(OBSERVATIONS.numpy())))


def test_without_normalisation_observations_are_clipped_or_as_they_are() -> None:
    assert ModeNetwork(unscaled(2.0), nn.Identity(), lambda seen: seen)(OBSERVATIONS).abs().max() == 2.0
    assert torch.equal(ModeNetwork(unscaled(), nn.Identity(), lambda seen: seen)(OBSERVATIONS), OBSERVATIONS)
