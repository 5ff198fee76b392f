"""What a trial needs of an algorithm, whichever it is."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from gymnasium.vector import VectorWrapper

from envs.observation import ChargerGroups
from search_spaces import Assignment
from tuning.algorithms.precision import check_device
from tuning.algorithms.sampling.preprocessing import Preprocessing

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv
    from ray.rllib.algorithms.algorithm import Algorithm
    from torch import nn

    from tuning.algorithms.networks.site_view import SiteView
    from tuning.algorithms.sac.replay_buffer import ReplayBuffer
    from tuning.runtime.stopwatch import Stopwatch

# The environment's name in Ray's registry, which all processes of a search share: under one name, two trials that begin at once
# would now and then get each other's.
ENVIRONMENT = f"site-{uuid.uuid4().hex}"
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
        parts: pieces that each minibatch's gradient is summed up from; more need less memory, for the same gradient.
    """

    hyperparameters: Assignment
    make_envs: Callable[[int], VectorEnv[Any, Any, Any]]
    most_envs: int
    steps: int
    seed: int
    gpu: bool
    chargers: ChargerGroups | None = None
    parts: int = 1

    @property
    def preprocessing(self) -> Preprocessing:
        """What the hyperparameters say of observations and rewards."""
        h: Any = self.hyperparameters
        keep = tuple(i for own in self.chargers.observations for i in own) if self.chargers else ()
        return Preprocessing(
            h["normalize_observations"], h["clip_obs"], h["normalize_rewards"], h["reward_scale"], h["gamma"], keep
        )

    def without_chargers(self) -> Setup:
        """The same site with vehicles that charge as on the uncontrolled one, and nothing but the rest to learn."""
        make_envs, chargers, initial_charging = self.make_envs, self.chargers, self.hyperparameters["initial_charging"]
        if not chargers:
            return self

        def make_site_envs(copies: int) -> VectorEnv[Any, Any, Any]:
            from tuning.algorithms.networks.site_view import SiteViewEnv

            return SiteViewEnv(make_envs(copies), chargers, float(initial_charging))  # type: ignore[arg-type]

        return replace(self, make_envs=make_site_envs, chargers=None)


class Trainer(ABC):
    """An algorithm in this process, with its learner and its environments.

    Attributes:
        setup: what the algorithm is built from: without chargers, where their actions are not learned.
        algorithm: RLlib's; its `train()` is one update, or several.
        num_envs: copies of the environment.
    """

    algo: ClassVar[str]
    setup: Setup
    algorithm: Algorithm
    num_envs: int

    def __init__(self, setup: Setup) -> None:
        """Build it.

        Raises:
            ValueError: for hyperparameters that cannot be trained together, by name.
        """
        check_device(setup.hyperparameters, setup.gpu)
        self.setup = setup if setup.hyperparameters["learn_charging"] else setup.without_chargers()

    @property
    def view(self) -> SiteView | None:
        """How the algorithm sees a site whose chargers' actions are not learned; None where they are, or there are none."""
        from tuning.algorithms.networks.site_view import SiteViewEnv

        runner: Any = self.algorithm.env_runner
        env = runner.env
        while not isinstance(env, SiteViewEnv):
            if not isinstance(env, VectorWrapper):
                return None
            env = env.env
        return env.view

    @abstractmethod
    def used(self) -> Assignment:
        """Hyperparameters that it works with, read back from optimizers, networks, buffer and runner where these hold them."""

    @abstractmethod
    def losses(self, result: dict[str, Any]) -> dict[str, float | int | None]:
        """Columns of a report from the result of one `algorithm.train()`; None where nothing was measured."""

    @abstractmethod
    def mode(self) -> Callable[[np.ndarray], np.ndarray]:
        """The mode of the policy as it is now, from what the algorithm's environment shows to what it takes."""

    @abstractmethod
    def mode_network(self) -> nn.Module:
        """The same mode as a network of torch's operations alone, which can be exported.

        Its input is what the algorithm's environment shows, shape (rows, features), its output what that takes.
        """

    def policy(self) -> Callable[[np.ndarray], np.ndarray]:
        """The mode of the policy as it is now, from observations to actions, each of shape `(copies, ...)`.

        Observations are normalised as in training, with the statistics as they are now; actions lie within the action space.
        """
        mode, view = self.mode(), self.view
        return mode if view is None else lambda observations: view.complete(mode(view.observe(observations)), observations)

    def used_for_charging(self, learned: float | None) -> Assignment:
        """What `used` says of chargers.

        Args:
            learned: `initial_charging` of a network that acts for them; None where there is none.
        """
        view = self.view
        if view is not None:
            return {"learn_charging": False, "initial_charging": view.initial_charging}
        return {"learn_charging": None if learned is None else True, "initial_charging": learned}

    @property
    def replay(self) -> ReplayBuffer | None:
        """Transitions that it learns from again and again; None where it forgets them."""
        return None

    def get_state(self) -> dict[str, Any]:
        """All that the next update depends on but the rows of `replay`, as what can be pickled."""
        from tuning.algorithms.random_state import random_state

        state = {"algorithm": self.algorithm.get_state(), "random": random_state()}
        return state if self.replay is None else {**state, "replay": self.replay.get_state()}

    def set_state(self, state: dict[str, Any], rows: Iterable[tuple[int, dict[str, np.ndarray]]]) -> None:
        """Go on from a state of `get_state`: on the same CPU, number by number.

        Args:
            state: of `get_state`.
            rows: of `replay`, see `ReplayBuffer.set_state`.
        """
        from tuning.algorithms.random_state import set_random_state

        # The buffer first: the runner acts on its observations.
        if self.replay is not None:
            self.replay.set_state(state["replay"], rows)
        self.algorithm.set_state(state["algorithm"])
        set_random_state(state["random"])

    def watch(self, environment: Stopwatch, learner: Stopwatch) -> None:
        """Time stepping of the environment and gradient steps. RLlib's own timers are smoothed; these have to add up."""
        runner: Any = self.algorithm.env_runner
        runner.stopwatch = environment
        group: Any = self.algorithm.learner_group
        group.update = learner.timing(group.update)

    def stop(self) -> None:
        """Close environments and free what the algorithm holds."""
        self.algorithm.stop()
