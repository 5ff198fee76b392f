"""What a trial that runs out of memory on its own gives up, one rung after the other, where the user asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from search_spaces import Assignment


@dataclass(frozen=True)
class Rung:
    """How a trial saves memory.

    Attributes:
        name: for people and the `trials` table; empty where nothing is saved.
        parts: pieces that each minibatch's gradient is summed up from, which leaves the mathematics as it is.
        bf16: whether networks reckon in bfloat16 whatever the hyperparameters say, which changes them.
    """

    name: str
    parts: int
    bf16: bool

    def apply(self, hyperparameters: Assignment) -> dict[str, Any]:
        """Hyperparameters of a trial on this rung."""
        return {**hyperparameters, "bf16": True} if self.bf16 else dict(hyperparameters)


LADDER = (Rung("", 1, False), Rung("half minibatches", 2, False), Rung("half minibatches, bfloat16", 2, True))
