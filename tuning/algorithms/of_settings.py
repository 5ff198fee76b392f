"""The algorithm of an experiment, with what its settings add to the algorithm's own space."""

from __future__ import annotations

from dataclasses import replace

from search_spaces.reward_share import with_reward_share
from tuning.algorithms.registry import algorithm
from tuning.algorithms.spec import AlgorithmSpec
from tuning.experiment.settings import Settings


def algorithm_of(settings: Settings) -> AlgorithmSpec:
    """Specification of an experiment's algorithm. With two objectives the share of the reward is searched too.

    Args:
        settings: of one algorithm.
    """
    spec, share = algorithm(settings.algo), settings.reward_share
    return replace(spec, space=with_reward_share(spec.space, share.default)) if share else spec
