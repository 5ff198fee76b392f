"""Formulas of layers against the layers."""

import pytest
import torch
from torch import nn

from envs.observation import ChargerGroups
from tuning.algorithms.networks import layers
from tuning.algorithms.networks.layers import ChargerHead
from tuning.algorithms.networks.sizes import Arithmetic, Problem, activations, head, hidden_sizes, matrices, perceptron, working


def numbers(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize("sizes", [(8,), (16, 32), (5, 7, 9)])
def test_a_perceptron(sizes: tuple[int, ...]) -> None:
    assert perceptron(3, sizes) == numbers(layers.perceptron(3, sizes, "tanh"))


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_head_with_and_without_chargers(outputs: int) -> None:
    assert head(Problem(10, 4, 10), 16, outputs) == numbers(nn.Linear(16, 4 * outputs))
    # A site with five features of its own, and three chargers with two each.
    groups = ChargerGroups(tuple((5 + 2 * i, 6 + 2 * i) for i in range(3)), (1, 2, 3))
    site = 5 + 2
    problem = Problem(11, 4, site, chargers=3, charger_features=2)
    assert head(problem, 16, outputs) == numbers(ChargerHead(site, 16, 4, outputs, groups))


def test_hidden_sizes_are_read_from_their_text() -> None:
    assert hidden_sizes({"hidden_sizes": "64,128"}) == (64, 128)


def test_matrices_are_those_behind_the_first_hidden_layer() -> None:
    weights = [module.weight for module in layers.perceptron(3, (5, 7, 9), "tanh") if isinstance(module, nn.Linear)]
    assert matrices((5, 7, 9), 2) == sum(weight.numel() for weight in weights[1:]) + 9 * 2


def test_silu_keeps_its_input_too() -> None:
    kept = {name: activations({"activation": name}) for name in layers.ACTIVATIONS}
    assert kept == {"tanh": 1, "relu": 1, "silu": 2}


@pytest.mark.parametrize(
    ("bf16", "compiled", "gpu", "expected"),
    [
        (False, False, False, Arithmetic(4, False, True)),
        (False, True, False, Arithmetic(4, False, False)),
        (False, False, True, Arithmetic(4, False, False)),
        (True, False, False, Arithmetic(2, True, False)),
    ],
)
def test_chargers_have_a_compiled_function_on_the_cpu_in_float32_alone(
    bf16: bool, compiled: bool, gpu: bool, expected: Arithmetic
) -> None:
    assert Arithmetic.of({"bf16": bf16, "torch_compile": compiled}, gpu) == expected


def test_working_memory_is_two_layers_gradients_of_each_network() -> None:
    h = {"hidden_sizes": "64,256", "bf16": False}
    assert working(h, 10, 1) == 2 * torch.zeros(10, 256).nbytes
    assert working({**h, "bf16": True}, 10, 2) == 2 * torch.zeros(10, 256).nbytes
