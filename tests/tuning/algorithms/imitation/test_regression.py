"""Regressions stop where held-out rows say so, and repeat."""

import numpy as np
import torch

from tuning.algorithms.imitation.regression import fit, mean_loss, off_range


def problem(noise: float = 0.0) -> tuple[torch.nn.Linear, torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(0)
    x = torch.randn(2000, 3, generator=random)
    y = x @ torch.tensor([0.5, -0.25, 0.1]) + noise * torch.randn(2000, generator=random)
    torch.manual_seed(1)
    return torch.nn.Linear(3, 1), x, y


def learned(noise: float = 0.0, epochs: int = 40, seed: int = 0) -> tuple[torch.nn.Linear, float, float]:
    network, x, y = problem(noise)

    def loss(index: torch.Tensor) -> torch.Tensor:
        return (network(x[index])[:, 0] - y[index]).square()

    rows = torch.arange(2000)
    held_out = rows[rows >= 1500]
    before = mean_loss(loss, held_out)
    found = fit(list(network.parameters()), loss, rows >= 1500, seed, epochs)
    assert mean_loss(loss, held_out) == found.loss
    return network, before, found.loss


def test_it_fits_and_repeats_and_draws_no_other_random_numbers() -> None:
    torch.manual_seed(3)
    state = torch.get_rng_state()
    network, before, after = learned()
    assert after < 0.1 * before
    torch.set_rng_state(state)
    weights = [learned(seed=seed)[0].weight.detach().numpy() for seed in (0, 0, 1)]
    np.testing.assert_array_equal(weights[0], weights[1])
    assert not np.array_equal(weights[0], weights[2])
    np.testing.assert_array_equal(network.weight.detach().numpy(), weights[0])
    network, x, y = problem()
    state = torch.get_rng_state()
    fit(list(network.parameters()), lambda i: (network(x[i])[:, 0] - y[i]).square(), torch.arange(18) >= 9, 0, 2)
    assert torch.equal(torch.get_rng_state(), state)


def test_the_best_parameters_are_kept() -> None:
    network, _, _ = problem()
    calls = 0

    def loss(index: torch.Tensor) -> torch.Tensor:
        nonlocal calls
        # The held-out rows like the parameters of the first epoch, and worse ones afterwards.
        if len(index) == 7:
            calls += 1
            return torch.full((7,), float(calls)) + 0.0 * network.weight.sum()
        return network(torch.ones(len(index), 3))[:, 0]

    found = fit(list(network.parameters()), loss, torch.arange(107) >= 100, 0)
    assert (found.loss, found.epochs) == (1.0, 9)


def test_beyond_the_range_an_action_cannot_err() -> None:
    off, yes, no = torch.tensor([-0.5, 0.5]), torch.tensor([True, True]), torch.tensor([False, False])
    assert off_range(off, yes, no).tolist() == [0.0, 0.5]
    assert off_range(off, no, yes).tolist() == [-0.5, 0.0]
    assert off_range(off, no, no).tolist() == [-0.5, 0.5]
