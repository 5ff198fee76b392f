"""How a trial saves memory after it ran out of it alone on a machine, with `--on-oom adapt`: one step after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from search_spaces import Assignment


@dataclass(frozen=True)
class Fallback:
    """How a trial saves memory.

    Attributes:
        name: for people and the `trials` table; empty where nothing is saved.
        parts: pieces that each minibatch's gradient is summed up from, which does not change the mathematics.
        bf16: whether networks compute in bfloat16 against the hyperparameters, which changes them.
    """

    name: str
    parts: int
    bf16: bool

    def apply(self, hyperparameters: Assignment) -> dict[str, Any]:
        """Hyperparameters of a trial with this fallback."""
        return {**hyperparameters, "bf16": True} if self.bf16 else dict(hyperparameters)


FALLBACKS = (
    Fallback("", 1, False),
    Fallback("half minibatches", 2, False),
    Fallback("half minibatches, bfloat16", 2, True),
)
