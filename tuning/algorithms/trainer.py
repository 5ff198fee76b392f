"""What a trial needs of an algorithm, whichever it is."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from search_spaces import Assignment
from tuning.algorithms.networks.building_kinds import UnfitError

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv
    from torch import nn

    from envs.district import District
    from envs.objective.weights import Weights
    from envs.observation import ChargerGroups
    from envs.yardsticks.lessons import Lessons
    from tuning.algorithms.networks.building_view import BuildingView
    from tuning.algorithms.networks.views import ChangedActions, SiteView
    from tuning.algorithms.sac.replay_buffer import ReplayBuffer
    from tuning.runtime.stopwatch import Stopwatch

WHOLE = "it sees a site as a whole; policies of shared_policy=true act on other sites"  # why a policy fits no other site
Rows = Iterable[tuple[int, dict[str, np.ndarray]]]  # arrays by name, each with the number of its first row


def finite(value: float | None) -> float | None:
    """A measurement, or None where there is none or it is not finite, which JSON cannot say."""
    return None if value is None or not math.isfinite(value) else float(value)


@dataclass(frozen=True)
class Setup:
    """What a trainer is built from."""

    hyperparameters: Assignment  # full assignment of the algorithm's search space
    make_envs: Callable[[int], VectorEnv[Any, Any, Any]]  # with a number of copies, and NEXT_STEP autoreset
    most_envs: int  # upper bound of the copies
    steps: int  # budget in environment steps, where schedules end
    seed: int  # of networks, action sampling and environment
    gpu: bool  # whether the learner uses the GPU
    chargers: ChargerGroups | None = None  # of the site, with their features and actions; None where it has fewer than two
    parts: int = 1  # pieces that each minibatch's gradient is summed up from; more need less memory, for the same gradient
    district: District | None = None  # the site's buildings; None where there is one
    agents: int = 1  # transitions that a step of a copy gives: one for each building that a shared policy acts for
    keep: tuple[int, ...] = ()  # further features that are not normalised
    taught: bool = False  # whether it begins as a copy of a teacher, see `Trainer.imitate`
    # The site's buildings, one or several, where a plan is among the observations: then what it plans is changed by actions.
    planned: District | None = None
    served: District | None = None  # likewise where thermal devices' actions are changes of what serves people


@dataclass(frozen=True)
class Update:
    """What one update did."""

    steps: int  # environment steps of the trial so far
    losses: Mapping[str, float | int | None]  # columns of the `reports` table; None where nothing was measured


class Acting(NamedTuple):
    """How a policy acts on a site."""

    policy: Callable[[np.ndarray], np.ndarray]  # its mode, from observations to actions, each of shape `(copies, ...)`
    # How it sees the site if it sees single buildings, or does not learn the chargers' actions; None otherwise.
    view: SiteView | BuildingView | None = None
    changes: ChangedActions | None = None  # how changes of a plan, or of what serves people, become actions; None without both


class Trainer(ABC):
    """An algorithm in this process, with its learner and its environments."""

    num_envs: int  # copies of the environment

    @abstractmethod
    def update(self) -> Update:
        """Collect transitions and learn from them once; what comes between two looks at the policy."""

    def imitate(self, lessons: Lessons) -> None:
        """Begin as a copy of a teacher; before the first update. Raises `UnfitError` if the algorithm cannot."""
        raise UnfitError("its algorithm cannot begin as a copy of a teacher")

    @abstractmethod
    def used(self) -> Assignment:
        """Hyperparameters that it works with, read back from optimizers, networks, buffer and runner where these hold them."""

    @abstractmethod
    def policy(self) -> Callable[[np.ndarray], np.ndarray]:
        """The mode of the policy as it is now, from observations to actions, each of shape `(copies, ...)`."""

    @property
    def shares(self) -> bool:
        """Whether one policy acts for each building."""
        return False

    def acting_on(self, site: District) -> Acting:
        """How it acts on another site. Raises `UnfitError` if it does not fit, see `building_kinds.why_unfit`."""
        raise UnfitError(WHOLE)

    @abstractmethod
    def mode_network(self) -> nn.Module:
        """The same mode as a network of torch's operations, from what the policy's environment shows to what it takes."""

    @property
    def view(self) -> SiteView | BuildingView | None:
        """See `Acting`."""
        return None

    @property
    def changes(self) -> ChangedActions | None:
        """See `Acting`."""
        return None

    @property
    def weights(self) -> Weights | None:
        """Weights of the reward that the built environment gives; None where it does not tell."""
        return None

    @property
    def replay(self) -> ReplayBuffer | None:
        """Transitions that it learns from again and again; None where it forgets them."""
        return None

    @abstractmethod
    def get_state(self) -> dict[str, Any]:
        """All that the next update depends on but the rows of `replay`: what `tuning.trial.packed_state.pack` takes."""

    @abstractmethod
    def set_state(self, state: dict[str, Any], rows: Rows | None) -> None:
        """Go on from a state of `get_state`: on the same CPU, number by number. Without rows it is to act, and not to learn."""

    def begin_episodes(self, number: int) -> None:
        """Begin all episodes anew, with a seed that follows from that of the trial and this number.

        For environments whose state cannot be saved: it is what `get_state` has of them.
        """
        raise NotImplementedError(f"{type(self).__name__} learns sites alone")

    @abstractmethod
    def watch(self, environment: Stopwatch, learner: Stopwatch) -> None:
        """Add seconds from now on to these stopwatches: of stepping the environment, and of gradient steps."""

    @abstractmethod
    def stop(self) -> None:
        """Close environments and free what the algorithm holds."""
