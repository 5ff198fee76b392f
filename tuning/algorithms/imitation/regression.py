"""Regressions on lessons: minibatches and Adam, until a part of the lessons that is held out says that it is enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

LEAST_BATCH, MOST_BATCH = 32, 512
BATCHES = 64  # of an epoch, where that keeps a batch within these sizes
LEARNING_RATE = 1e-3
EPOCHS = 40  # over which the learning rate falls to nothing
PATIENCE = 8  # epochs without a better loss of the rows that are held out


@dataclass(frozen=True)
class Fit:
    """How a regression ended."""

    loss: float  # of the rows that are held out, with the parameters that were kept
    epochs: int


def fit(
    parameters: Sequence[torch.nn.Parameter],
    loss: Callable[[torch.Tensor], torch.Tensor],
    is_held_out: torch.Tensor,
    seed: int,
    epochs: int = EPOCHS,
) -> Fit:
    """Minimise a mean over rows; the parameters that are best on rows that are held out are kept.

    No random numbers are drawn but those of `seed`.
    """
    rows, held_out = (~is_held_out).nonzero()[:, 0], is_held_out.nonzero()[:, 0]
    # Of a site with very few windows none is held out.
    held_out = held_out if len(held_out) else rows
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(parameters, lr=LEARNING_RATE)
    size = min(MOST_BATCH, max(LEAST_BATCH, len(rows) // BATCHES))
    best, kept, since, done = math.inf, [p.detach().clone() for p in parameters], 0, 0
    for epoch in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * 0.5 * (1.0 + math.cos(math.pi * epoch / epochs))
        order = rows[torch.randperm(len(rows), generator=generator).to(rows.device)]
        for index in order.split(size):
            optimizer.zero_grad(set_to_none=False)
            loss(index).mean().backward()
            optimizer.step()
        found = mean_loss(loss, held_out)
        done, since = epoch + 1, since + 1
        if found < best:
            best, since = found, 0
            for copy, parameter in zip(kept, parameters, strict=True):
                copy.copy_(parameter.detach())
        if since >= PATIENCE:
            break
    optimizer.zero_grad(set_to_none=False)
    with torch.no_grad():
        for copy, parameter in zip(kept, parameters, strict=True):
            parameter.copy_(copy)
    return Fit(best, done)


def mean_loss(loss: Callable[[torch.Tensor], torch.Tensor], rows: torch.Tensor) -> float:
    """Mean over rows, by their indices."""
    with torch.no_grad():
        total = sum(float(loss(index).double().sum()) for index in rows.split(8192))
    return total / max(len(rows), 1)


def off_range(off: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """Errors of actions without those beyond the range: what is more than the greatest action is cut to it."""
    return torch.where(low, off.clamp(min=0.0), torch.where(high, off.clamp(max=0.0), off))
