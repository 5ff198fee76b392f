"""Spaces and names of earlier versions, with which their experiments are continued and read.

Experiments know what they search by its description. One that was begun with an earlier space goes on with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from optuna.distributions import IntDistribution

from search_spaces.parameter import Assignment, Scale
from search_spaces.ppo import PPO
from search_spaces.sac import SAC
from search_spaces.space import SearchSpace


def _with(space: SearchSpace, changes: Mapping[str, Mapping[str, Any]]) -> SearchSpace:
    """A space in which some hyperparameters have other fields."""
    return SearchSpace(tuple(replace(own, **changes.get(own.name, {})) for own in space.parameters))


_POWERS = MappingProxyType({"scale": Scale.POWER_OF_TWO, "part_of": "", "enough": ""})

# By algorithm, the newest first. Of version 0.1: batches and gradient steps were drawn by themselves.
EARLIER: Mapping[str, tuple[SearchSpace, ...]] = {
    "ppo": (_with(PPO, {"batch_size": {**_POWERS, "search": IntDistribution(6, 11)}}),),
    "a2c": (),
    "sac": (
        _with(
            SAC,
            {
                "buffer_size": {"enough": ""},
                "train_freq": {**_POWERS, "search": IntDistribution(4, 8)},
                "gradient_steps": {**_POWERS, "search": IntDistribution(1, 5)},
            },
        ),
    ),
}


# Names that came when another one changed its meaning.
NEW_NAMES = ("kl_target",)


def in_todays_names(assignment: Assignment) -> Assignment:
    """An assignment that an earlier version wrote, by the names of this one.

    What was `target_kl` until version 0.1 is `kl_target`, as RLlib calls it. `target_kl` is what Stable-Baselines3 calls so.

    Args:
        assignment: full, or a part of one. Since the change, one with `target_kl` has `kl_target` too.
    """
    if "target_kl" not in assignment or "kl_target" in assignment:
        return assignment
    return {**assignment, "kl_target": assignment["target_kl"], "target_kl": None}
