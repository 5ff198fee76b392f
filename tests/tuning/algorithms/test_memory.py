"""Sizes of layers against the layers, terms against their words, predictions of learners against what these hold."""

import math
from typing import Any

import pytest
import torch
from torch import nn

from envs.observation import ChargerGroups
from tests.tuning.algorithms.memory_checks import assignment, keeping, nbytes, predicted, term, trainer
from tuning.algorithms.memory import (
    Problem,
    Term,
    Workload,
    activations,
    floats,
    head,
    hidden_sizes,
    networks,
    perceptron,
)
from tuning.algorithms.networks import layers
from tuning.algorithms.networks.layers import ChargerHead
from tuning.algorithms.networks.shared_network import as_layers

pytestmark = pytest.mark.usefixtures("small_ray")

CASES = [
    ("ppo", {}),
    ("ppo", {"hidden_sizes": "256,128,64", "activation": "silu", "state_dependent_std": True, "clip_range_vf": 0.2}),
    ("ppo", {"learn_charging": True}),
    ("ppo", {"learn_charging": True, "bf16": True}),
    ("a2c", {"batch_size": 256, "optimizer": "adam", "shared_layers": True}),
    ("sac", {"hidden_sizes": "256,128,64", "activation": "silu", "ent_coef": 0.01}),
    ("sac", {"learn_charging": True}),
    pytest.param("sac", {"bf16": True, "batch_size": 512}, marks=pytest.mark.slow),  # a core multiplies it slowly
]


def numbers(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize("sizes", [(8,), (16, 32), (5, 7, 9)])
def test_a_perceptron(sizes: tuple[int, ...]) -> None:
    assert perceptron(3, sizes) == numbers(layers.perceptron(3, sizes, "tanh"))
    assert hidden_sizes({"hidden_sizes": ",".join(map(str, sizes))}) == sizes


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_head_with_and_without_chargers(outputs: int) -> None:
    assert head(Problem(10, 4, 10), 16, outputs) == numbers(nn.Linear(16, 4 * outputs))
    # A site with five features of its own, and three chargers with two each.
    groups = ChargerGroups(tuple((5 + 2 * i, 6 + 2 * i) for i in range(3)), (1, 2, 3))
    site = 5 + 2
    problem = Problem(11, 4, site, chargers=3, charger_features=2)
    assert head(problem, 16, outputs) == numbers(ChargerHead(site, 16, 4, outputs, groups))


def test_a_product_is_in_its_words() -> None:
    found = floats("rollout", "ram", "n_steps", (1024, "transitions"), (31, "numbers"))
    assert found == Term("rollout", "ram", 1024 * 31 * 4, "1,024 transitions x 31 numbers x 4 B", "n_steps")
    assert networks("vram", 100, 2, 40).nbytes == 4 * (4 * 100 + 40)


def test_pieces_of_a_minibatch_keep_a_piece() -> None:
    h = {"hidden_sizes": "64,64", "activation": "tanh", "bf16": False, "torch_compile": False}
    whole, half = (activations(h, Problem(28, 1, 28), Workload(8, 1000, 2, 4, False, n), 256, 2, 9) for n in (1, 2))
    assert whole.nbytes == 2 * half.nbytes


@pytest.mark.parametrize(("algo", "given"), CASES)
def test_what_a_learner_holds_and_what_its_gradients_keep(
    algo: str, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    h = assignment(algo, **given)
    with trainer(algo, h) as trained:
        for _ in range(2):
            trained.algorithm.train()
        learner = trained.learner
        learner._written_out = None  # as on a card
        learned = [parameter for parameter in learner.network.parameters() if parameter.requires_grad]
        states = [t for each in learner._named_optimizers.values() for s in each.state.values() for t in s.values()]
        # Beside counters of steps.
        held = nbytes(each for each in states if isinstance(each, torch.Tensor) and each.numel() > 1)
        held += 2 * nbytes(learned) + (nbytes(learner.network.targets.parameters()) if algo == "sac" else 0)
        assert held == pytest.approx(term(predicted(algo, h), "networks and optimizer"), rel=0.02)
        for gpu in (False, True):
            if gpu:  # as on a card
                monkeypatch.setattr("tuning.algorithms.networks.layers.shared_network", as_layers)
            with pytest.MonkeyPatch.context() as patched:
                kept = keeping(trained, algo, patched)["kept"]
            # The term has what flows back through the widest layer too. Half of it is below a tenth of a trial.
            assert 0.65 < term(predicted(algo, h, gpu), "activations") / kept < 2.2


@pytest.mark.parametrize("algo", ["ppo", "a2c", "sac"])
def test_pieces_give_the_same_gradient(algo: str) -> None:
    h, weights = assignment(algo), []
    for parts in (1, 2):
        with trainer(algo, h, parts) as trained:
            trained.algorithm.train()
            weights.append(torch.cat([p.detach().flatten() for p in trained.learner.network.parameters()]))
    assert not torch.equal(*weights)
    torch.testing.assert_close(*weights, rtol=0.0, atol=2e-4)


@pytest.mark.parametrize("algo", ["ppo", "a2c", "sac"])
def test_formulas_of_products_give_their_terms(algo: str) -> None:
    for gpu in (False, True):
        found = predicted(algo, assignment(algo), gpu)
        products = [each for each in found.terms if " x " in each.formula and "+" not in each.formula]
        assert len(products) >= 5
        for each in products:
            factors = [int(part.split()[0].replace(",", "")) for part in each.formula.split(" x ")]
            assert each.nbytes == math.prod(factors), each
