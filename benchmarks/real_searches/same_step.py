"""Our training environment for libraries that expect the next episode's first observation in the step that ends one."""

from typing import Any

import numpy as np

from envs.environments.vector_env import SiteVectorEnv
from envs.objective.evaluate import TRAINING_HOURS
from envs.scenarios.scenario import scenario, training_starts


class SameStepEnv(SiteVectorEnv):
    """Copies that begin their next episode in the step that ends one (`AutoresetMode.SAME_STEP`).

    The copies, their windows and their rewards are those of `SiteVectorEnv`, without its step between two episodes.
    """

    def advance(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[int, np.ndarray]]:
        """Take one hour in all copies.

        Args:
            actions: shape (copies, actions).

        Returns:
            Observations (copies, observations), the first of the next episode where one ended; rewards (copies,); whether an
            episode ended (copies,); the last observation of each that ended, by its copy.
        """
        observations, rewards, _, ended, _ = self.step(actions)
        last = {int(b): observations[b].copy() for b in np.flatnonzero(ended)}
        for b in last:
            self._begin(b, self._draw())
        # Episodes end rarely, and copies of observations are small.
        return (self._observation() if last else observations), rewards, ended, last

    def set_seed(self, seed: int | None) -> np.ndarray:
        """Begin anew; returns the first observations."""
        observations: np.ndarray = self.reset(seed=seed)[0]
        return observations


def same_step_env(scenario_name: str, copies: int) -> SameStepEnv:
    """Training environment of a site, as `envs.task.Task.training_env` makes it for our trainers.

    Args:
        scenario_name: see `envs.scenarios.scenario.scenario`.
        copies: how many.
    """
    site = scenario(scenario_name)
    windows = training_starts(site.windows("train"), TRAINING_HOURS)
    options: dict[str, Any] = {"copy": True}
    return SameStepEnv(site, windows, copies, **options)
