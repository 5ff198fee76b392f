"""The range of actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np


@dataclass(frozen=True, eq=False)
class ActionRange:
    """Between actions within [-1, 1], which the policy gives and the buffer holds, and the environment's.

    Attributes:
        low: least value of each action, shape (actions,), float32.
        high: greatest value, likewise.
    """

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, space: Any) -> ActionRange:
        """Range of an action space.

        Raises:
            ValueError: if it is no box of one dimension with finite bounds.
        """
        if not isinstance(space, gym.spaces.Box) or len(space.shape) != 1 or not space.is_bounded():
            raise ValueError(
                f"SAC squashes actions into a box of one dimension with finite bounds; the action space is {space}"
            )
        return cls(space.low.astype(np.float32), space.high.astype(np.float32))

    def to_environment(self, actions: np.ndarray) -> np.ndarray:
        """Actions of the environment for actions within [-1, 1], shape (copies, actions)."""
        # Rounding must not lead out of the range.
        stretched = self.low + (actions + 1.0) * (0.5 * (self.high - self.low))
        return np.clip(stretched, self.low, self.high)

    def from_environment(self, actions: np.ndarray) -> np.ndarray:
        """Actions within [-1, 1] for actions of the environment, shape (..., actions); 0 where these have no range."""
        span = self.high - self.low
        found = (actions - self.low) * (2.0 / np.where(span > 0.0, span, 1.0)) - 1.0
        return np.where(span > 0.0, np.clip(found, -1.0, 1.0), 0.0).astype(np.float32)
