"""Parameters as one vector: the network's own are views of it."""

import pytest
import torch
from torch import nn

from tuning.algorithms.sac.flat_parameters import FlatParameters


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 2))


def test_values_and_results_stay_the_same() -> None:
    own, flat = network(), network()
    FlatParameters(list(flat.parameters()))
    inputs = torch.randn(4, 3)
    torch.testing.assert_close(flat(inputs), own(inputs), rtol=0.0, atol=0.0)


def test_a_change_of_the_vector_is_a_change_of_the_network() -> None:
    module = network()
    flat = FlatParameters(list(module.parameters()))
    with torch.no_grad():
        flat.vector.fill_(0.5)
    assert all((parameter == 0.5).all() for parameter in module.parameters())


def test_gradients_are_added_into_one_vector_in_place() -> None:
    own, module = network(), network()
    flat = FlatParameters(list(module.parameters()))
    inputs = torch.randn(4, 3)
    for _ in range(2):
        own(inputs).sum().backward()
        module(inputs).sum().backward()
    norm = torch.cat([parameter.grad.flatten() for parameter in own.parameters() if parameter.grad is not None]).norm()
    assert float(flat.gradient.norm()) == pytest.approx(float(norm), rel=1e-6)
    flat.gradient.zero_()
    assert all((parameter.grad == 0.0).all() for parameter in module.parameters())


def test_each_parameter_begins_at_a_cache_line() -> None:
    module = network()
    flat = FlatParameters(list(module.parameters()))
    start = flat.vector.data_ptr()
    assert all((parameter.data_ptr() - start) % 64 == 0 for parameter in module.parameters())


def test_what_is_not_trained_has_no_gradient() -> None:
    module = network().requires_grad_(False)
    assert FlatParameters(list(module.parameters())).vector.grad is None
