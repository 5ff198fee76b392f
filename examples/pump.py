"""A pump that fills a tank from which a village drinks, as a Gymnasium environment.

python -m tuning.run --algo ppo --env examples/pump.py:make --budget 10m

Electricity is dear in the evening, when demand peaks too, and the pump is efficient in the middle of its range.
A week has 168 hours; which days are thirsty is drawn anew.
"""

import math
from typing import Any

import gymnasium as gym
import numpy as np

HOURS = 168
MOST_FLOW = 60.0  # m3 an hour, of the pump at full speed
LIFT = 0.32  # kWh for each m3 at the best efficiency
PENALTY = 5.0  # for each m3 that the village lacks or the tank spills


class Pump(gym.Env[np.ndarray, np.ndarray]):
    """One action: the speed of the pump, from 0 to 1. The reward is minus the bill, and a penalty for lacking and spilling."""

    def __init__(self, volume: float = 400.0) -> None:
        """`volume` is that of the tank, m3."""
        self.volume = volume
        # Level, hour of the day as sine and cosine, price, demand of the hour before as parts of what they are at most.
        self.observation_space = gym.spaces.Box(-1.0, 2.0, (5,), np.float32)
        self.action_space = gym.spaces.Box(0.0, 1.0, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin a week with a tank that is half full."""
        super().reset(seed=seed)
        self.thirst = self.np_random.normal(1.0, 0.2, HOURS // 24).clip(0.5, 1.5)
        self.hour, self.level, self.demand = 0, 0.5 * self.volume, 0.0
        self.bill = self.lacking = self.energy = 0.0
        return self._observation(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Pump for an hour, then let the village drink."""
        speed, price, of_day = float(action[0]), self._price(), self.hour % 24
        flow = MOST_FLOW * speed
        energy = flow * LIFT * (1.0 + 1.5 * (speed - 0.6) ** 2)
        self.demand = (12.0 + 22.0 * math.exp(-((of_day - 7) ** 2) / 8) + 26.0 * math.exp(-((of_day - 19) ** 2) / 10)) * float(
            self.thirst[self.hour // 24]
        )
        after = self.level + flow - self.demand
        lacking, spilled = max(-after, 0.0), max(after - self.volume, 0.0)
        self.level = min(max(after, 0.0), self.volume)
        self.energy, self.lacking, self.bill = self.energy + energy, self.lacking + lacking, self.bill + price * energy
        self.hour += 1
        reward = -price * energy - PENALTY * (lacking + spilled)
        info = {"kwh": self.energy, "lacking_m3": self.lacking, "bill": self.bill}
        return self._observation(), reward, False, self.hour == HOURS, info

    def _price(self) -> float:
        return 0.45 if 18 <= self.hour % 24 < 23 else 0.12 if self.hour % 24 < 6 else 0.22

    def _observation(self) -> np.ndarray:
        angle = 2.0 * math.pi * (self.hour % 24) / 24
        parts = (self.level / self.volume, math.sin(angle), math.cos(angle), self._price(), self.demand / MOST_FLOW)
        return np.array(parts, np.float32)


def make(volume: float = 400.0) -> Pump:
    """A pump, as `--env examples/pump.py:make` makes it; `volume` may come from `--env-config`."""
    return Pump(volume)
