"""The mode of a policy as one network of torch's operations, with the normalisation of its observations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from tuning.algorithms.sampling.observation_statistics import FrozenNormalizer
from tuning.algorithms.sampling.preprocessing import Clip


class ModeNetwork(nn.Module):
    """From what an environment shows to what it takes, on the CPU, with the statistics as they were when it was made."""

    mean: torch.Tensor
    scale: torch.Tensor
    limit: float | None

    def __init__(self, preprocess: Any, network: nn.Module, act: Callable[[torch.Tensor], torch.Tensor]) -> None:
        """Take over a policy.

        Args:
            preprocess: what is done to observations: a `FrozenNormalizer` or a `Clip`.
            network: its parameters are this one's.
            act: from preprocessed observations, shape (rows, features), to actions, by these parameters.

        Raises:
            TypeError: for a preprocessing that it does not know.
        """
        super().__init__()
        mean, scale = torch.zeros(()), torch.ones(())
        if isinstance(preprocess, FrozenNormalizer):
            mean, scale, self.limit = torch.tensor(preprocess.mean), torch.tensor(preprocess.scale), preprocess.clip
        elif isinstance(preprocess, Clip):
            self.limit = preprocess.limit
        else:
            raise TypeError(f"a policy cannot be exported as one network if {preprocess} prepares its observations")
        self.register_buffer("mean", mean)
        self.register_buffer("scale", scale)
        self.network, self._act = network, act

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Actions, shape (rows, actions).

        Args:
            observations: shape (rows, features), float32.
        """
        seen = (observations - self.mean) * self.scale
        return self._act(seen if self.limit is None else seen.clamp(-self.limit, self.limit))
