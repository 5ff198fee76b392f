"""What an algorithm consists of, and all of them by name; each is imported when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from common.errors import UsageError
from common.texts import hint
from search_spaces import Assignment, SearchSpace, SpaceError
from search_spaces.common import with_reward_share
from search_spaces.environment import for_environment, presets_for_environment
from tuning.algorithms.memory import Problem, Term, Workload
from tuning.experiment.option_values import entries, names
from tuning.experiment.settings import Settings

if TYPE_CHECKING:
    from tuning.algorithms.trainer import Setup, Trainer

__all__ = ["DEFAULT", "AlgorithmSpec", "algorithm", "algorithm_of", "names"]

DEFAULT = "default"  # the preset that every algorithm has: the first trial of a search, and the control of a judgement
# What is known to work, rather than what somebody ran: these values give way to the budget and to given ones, as defaults do.
RECOMMENDED = (DEFAULT, "several-buildings", "planned")


@dataclass(frozen=True)
class AlgorithmSpec:
    """Everything that the rest of the tuner has to know of an algorithm. `ValueError` without a preset `default`."""

    name: str  # on the command line, in results and in messages
    space: SearchSpace
    presets: Mapping[str, Assignment]  # named assignments; each sets some hyperparameters, `default` usually none
    build: Callable[[Setup], Trainer]  # builds its trainer; imports what is heavy
    copies: Callable[[Assignment, int], int]  # of the site that it steps at once, from a full assignment and an upper bound
    # Its own terms of the predicted memory of a full assignment: networks, gradients, what it stores.
    memory: Callable[[Assignment, Workload, Problem], Sequence[Term]]
    # Expected seconds of an environment step on one core. Only ratios between assignments matter; by default all cost the same.
    seconds: Callable[[Assignment, Problem], float] = lambda assignment, problem: 1.0
    actions: Collection[str] = ()  # that it learns, of environments; none where it learns sites alone
    can_be_taught: bool = False  # whether its policies can begin as a copy of a teacher, see `Trainer.imitate`

    def __post_init__(self) -> None:
        if DEFAULT not in self.presets:
            raise ValueError(f"{self.name} has no preset {DEFAULT}")

    def preset(
        self, name: str, given: Assignment | None = None, limits: Mapping[str, float] = MappingProxyType({})
    ) -> Assignment:
        """Full assignment of a preset; `given` values override its own. Raises `SpaceError` for an unknown name or values."""
        if name not in self.presets:
            raise SpaceError(f"no preset {name} of {self.name}: {hint(name, self.presets)}")
        preset, given = self.presets[name], given or {}
        gives_way = name in RECOMMENDED
        values = self.space.complete(given if gives_way else {**preset, **given}, limits, preset if gives_way else None)
        self.space.check(values, limits)
        return values


def algorithm(name: str) -> AlgorithmSpec:
    """The algorithm of a name. Raises `UsageError` if there is none, or a package registers something else under it."""
    entry = entries().get(name)
    if entry is None:
        raise UsageError(f"there is no algorithm {name}: {hint(name, names())}")
    spec = entry.load()
    if not isinstance(spec, AlgorithmSpec) or spec.name != name:
        raise UsageError(f"{entry.value} has to be an AlgorithmSpec called {name}, is {spec!r:.80}: update its package")
    return spec


def algorithm_of(settings: Settings) -> AlgorithmSpec:
    """Specification of an experiment's algorithm.

    With two objectives the share of the reward is searched too. For an environment it has nothing that only a site has.
    """
    spec, share = algorithm(settings.algo), settings.reward_share
    if settings.env:
        space, presets = for_environment(spec.name, spec.space), presets_for_environment(spec.presets)
        return replace(spec, space=space, presets=presets)
    return replace(spec, space=with_reward_share(spec.space, share.default)) if share else spec
