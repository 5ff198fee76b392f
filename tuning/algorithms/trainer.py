"""What a trial needs of an algorithm, whichever it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from envs.observation import ChargerGroups
from search_spaces import Assignment

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv
    from ray.rllib.algorithms.algorithm import Algorithm

    from tuning.measure import Stopwatch

ENVIRONMENT = "site"  # the environment's name in Ray's registry
MODULE = "default_policy"  # RLlib's name for the one module that there is


@dataclass(frozen=True)
class Setup:
    """What a trainer is built from.

    Attributes:
        hyperparameters: full assignment of the algorithm's search space.
        make_envs: makes the training environment with a number of copies, a `VectorEnv` with NEXT_STEP autoreset.
        most_envs: upper bound of the copies.
        steps: budget in environment steps, where schedules end.
        seed: of networks, action sampling and environment.
        gpu: whether the learner uses the GPU.
        chargers: of the site, with their features and actions; None where it has fewer than two.
    """

    hyperparameters: Assignment
    make_envs: Callable[[int], VectorEnv[Any, Any, Any]]
    most_envs: int
    steps: int
    seed: int
    gpu: bool
    chargers: ChargerGroups | None = None


class Trainer(ABC):
    """An algorithm in this process, with its learner and its environments.

    Attributes:
        algorithm: RLlib's; its `train()` is one update, or several.
        num_envs: copies of the environment.
    """

    algo: ClassVar[str]
    algorithm: Algorithm
    num_envs: int

    @abstractmethod
    def __init__(self, setup: Setup) -> None:
        """Build it.

        Raises:
            ValueError: for hyperparameters that cannot be trained together, by name.
        """

    @abstractmethod
    def used(self) -> Assignment:
        """Hyperparameters that it works with, read back from optimizers, networks, buffer and runner where these hold them."""

    @abstractmethod
    def losses(self, result: dict[str, Any]) -> dict[str, float | int | None]:
        """Columns of a report from the result of one `algorithm.train()`; None where nothing was measured."""

    @abstractmethod
    def policy(self) -> Callable[[np.ndarray], np.ndarray]:
        """The mode of the policy as it is now, from observations to actions, each of shape `(copies, ...)`.

        Observations are normalised as in training, with the statistics as they are now; actions lie within the action space.
        """

    def watch(self, environment: Stopwatch, learner: Stopwatch) -> None:
        """Time stepping of the environment and gradient steps. RLlib's own timers are smoothed; these have to add up."""
        runner: Any = self.algorithm.env_runner
        runner.stopwatch = environment
        group: Any = self.algorithm.learner_group
        group.update = learner.timing(group.update)

    def stop(self) -> None:
        """Close environments and free what the algorithm holds."""
        self.algorithm.stop()
