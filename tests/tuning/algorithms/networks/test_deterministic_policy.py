"""A policy's mode as one network."""

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from tuning.algorithms.networks.deterministic_policy import ModeNetwork
from tuning.algorithms.sampling.observation_statistics import ObservationNormalizer
from tuning.algorithms.sampling.preprocessing import Clip

OBSERVATIONS = torch.tensor([[1.0, -50.0], [3.0, 200.0]])


def test_observations_are_normalised_and_clipped_as_by_the_statistics() -> None:
    normalizer = ObservationNormalizer(2, clip=1.2)
    normalizer.update(np.array([[0.0, 100.0], [2.0, 300.0], [7.0, 0.0]], np.float32))
    frozen = normalizer.frozen()
    network = ModeNetwork(frozen, nn.Identity(), lambda seen: seen)
    torch.testing.assert_close(network(OBSERVATIONS), torch.from_numpy(frozen(OBSERVATIONS.numpy())))


def test_without_normalisation_observations_are_clipped_or_as_they_are() -> None:
    assert ModeNetwork(Clip(2.0), nn.Identity(), lambda seen: seen)(OBSERVATIONS).abs().max() == 2.0
    assert torch.equal(ModeNetwork(Clip(None), nn.Identity(), lambda seen: seen)(OBSERVATIONS), OBSERVATIONS)


def test_another_preprocessing_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot be exported as one network"):
        ModeNetwork(partial(np.clip, a_min=0, a_max=1), nn.Identity(), lambda seen: seen)
