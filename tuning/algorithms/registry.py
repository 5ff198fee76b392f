"""All algorithms by name, and the algorithm of an experiment; each is imported when it is needed."""

from __future__ import annotations

from dataclasses import replace

from common.errors import UsageError
from common.texts import hint
from search_spaces.common import with_reward_share
from tuning.algorithms.spec import AlgorithmSpec
from tuning.experiment.option_values import entries, names
from tuning.experiment.settings import Settings

__all__ = ["algorithm", "names"]


def algorithm(name: str) -> AlgorithmSpec:
    """The algorithm of a name. Its trainer, and RLlib and torch with it, is imported only when it is built.

    Raises:
        UsageError: if there is none of this name, or an installed package registers something else under it.
    """
    entry = entries().get(name)
    if entry is None:
        raise UsageError(f"there is no algorithm {name}: {hint(name, names())}")
    spec = entry.load()
    if not isinstance(spec, AlgorithmSpec) or spec.name != name:
        raise UsageError(f"{entry.value} has to be an AlgorithmSpec called {name}, is {spec!r:.80}: update its package")
    return spec


def algorithm_of(settings: Settings) -> AlgorithmSpec:
    """Specification of an experiment's algorithm. With two objectives the share of the reward is searched too."""
    spec, share = algorithm(settings.algo), settings.reward_share
    return replace(spec, space=with_reward_share(spec.space, share.default)) if share else spec
