"""Perceptrons whose gradients are written out: those of autograd."""

import pytest
import torch
from torch import nn

from tuning.algorithms.networks.layers import perceptron
from tuning.algorithms.networks.written_out import WrittenOut


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("sizes", [(8,), (16, 8, 24)])
def test_outputs_and_gradients_are_those_of_autograd(activation: str, sizes: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    # In double precision: what differs in single is rounding alone.
    layers, head = perceptron(5, sizes, activation).double(), nn.Linear(sizes[-1], 3).double()
    parameters = [*layers.parameters(), *head.parameters()]
    inputs, slope = torch.randn(40, 5).double(), torch.randn(40, 3).double()
    expected = head(layers(inputs))
    gradients = torch.autograd.grad((expected * slope).sum(), parameters)
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    assert WrittenOut.can(layers, head)
    written_out = WrittenOut(layers, head)
    with torch.no_grad():
        run = written_out.run(inputs)
        torch.testing.assert_close(run[-1], expected.detach())
        assert torch.equal(written_out(inputs), run[-1])
        written_out.add_gradient(run, slope)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        # Added to what was there.
        torch.testing.assert_close(parameter.grad, gradient + 1.0, rtol=1e-12, atol=1e-12)


def test_what_it_cannot_compute_is_left_to_autograd() -> None:
    assert not WrittenOut.can(perceptron(5, (8,), "silu"), nn.Linear(8, 3))
    assert not WrittenOut.can(perceptron(5, (8,), "tanh"), nn.Sequential(nn.Linear(8, 3)))
