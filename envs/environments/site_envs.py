"""A few copies of a site that CityLearn steps, one after the other, as one vector environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymnasium.vector import AutoresetMode, SyncVectorEnv

from envs.environments.site_env import SiteEnv
from envs.objective.reward import RewardName
from envs.objective.weights import DEFAULT, Weights
from envs.scenarios.scenario import Scenario, Window
from envs.seen import Seen


class SiteEnvs(SyncVectorEnv):
    """Copies of `SiteEnv` that draw their windows at random and can save their state."""

    envs: list[Any]

    def __init__(
        self,
        scenario: Scenario,
        windows: Sequence[Window],
        num_envs: int,
        reward: RewardName,
        weights: Weights = DEFAULT,
        seen: Seen | None = None,
    ) -> None:
        self.seen, self.weights = seen or Seen.of(weights), weights
        super().__init__(
            [lambda: SiteEnv(scenario, windows, "random", reward, weights=weights, seen=seen) for _ in range(num_envs)],
            autoreset_mode=AutoresetMode.NEXT_STEP,
        )

    def split_rewards(self) -> None:
        """Tell from now on in the infos of `step` what each building earned; shape (copies, N)."""
        for env in self.envs:
            env.split_rewards()

    def get_state(self) -> dict[str, Any]:
        """State of each copy, and which of them begin another episode in the next step."""
        return {"copies": [env.get_state() for env in self.envs], "over": self._autoreset_envs.copy()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from a state of `get_state`, instead of a `reset`.

        Raises:
            ValueError: if the state is of another number of copies.
        """
        for env, own in zip(self.envs, state["copies"], strict=True):
            env.set_state(own)
        self._autoreset_envs = state["over"].copy()
