"""How a hyperparameter changes over a trial's budget."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

Shape = Literal["constant", "linear", "exponential", "cosine"]
SHAPES: tuple[str, ...] = get_args(Shape)


@dataclass(frozen=True)
class Schedule:
    """A value as a function of the steps taken, without a state: a trial that goes on is where it would have been.

    RLlib's schedules know pieces of lines only, and begin anew after a restore. An exponential decay to 0 is a `ValueError`.
    """

    initial: float
    shape: Shape
    final: float  # part of `initial` at the end of the budget and after it; above 0 for `exponential`
    steps: int

    def __post_init__(self) -> None:
        if self.shape == "exponential" and self.final <= 0.0:
            raise ValueError("an exponential decay never reaches 0: its final part has to be above it")

    def value(self, step: int) -> float:
        """Value after a number of environment steps."""
        if self.shape == "constant":
            return self.initial
        done = min(max(step / self.steps, 0.0), 1.0)
        if self.shape == "linear":
            left = 1.0 - done
        elif self.shape == "cosine":
            left = 0.5 * (1.0 + math.cos(math.pi * done))
        else:
            return self.initial * self.final**done
        return self.initial * (self.final + (1.0 - self.final) * left)
