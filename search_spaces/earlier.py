"""Spaces and names of earlier versions, with which their experiments are continued and read.

Experiments know what they search by its description. One that was begun with an earlier space goes on with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from search_spaces.a2c import A2C
from search_spaces.parameter import Assignment, Scale
from search_spaces.ppo import PPO
from search_spaces.sac import SAC
from search_spaces.space import SearchSpace


def _with(space: SearchSpace, changes: Mapping[str, Mapping[str, Any]]) -> SearchSpace:
    """A space in which some hyperparameters have other fields."""
    return SearchSpace(tuple(replace(own, **changes.get(own.name, {})) for own in space.parameters))


def _powers(low: int, high: int) -> Mapping[str, Any]:
    """Fields of what was drawn by itself over powers of two, with the same range for all budgets."""
    own = {"search": IntDistribution(low, high), "scale": Scale.POWER_OF_TWO}
    return MappingProxyType({**own, "part_of": None, "enough": "", "searched_to": None})


_WIDE_NETWORKS = MappingProxyType({"search": CategoricalDistribution(("64,64", "128,128", "256,256", "512,512"))})
_DEVIATIONS = MappingProxyType({"searched_from": None})
_NETWORKS_OF_PPO = MappingProxyType(
    {
        "log_std_init": _DEVIATIONS,
        "hidden_sizes": _WIDE_NETWORKS,
        "activation": {"search": CategoricalDistribution(("tanh", "relu"))},
        "normalize_observations": {"search": CategoricalDistribution((True, False))},
    }
)
_ENTROPY = MappingProxyType({"search": FloatDistribution(1e-4, 0.1, log=True)})
_BONUS = MappingProxyType({"search": FloatDistribution(1e-7, 1e-2, log=True)})

# By algorithm, the newest first; the last is that of version 0.1.
EARLIER: Mapping[str, tuple[SearchSpace, ...]] = {
    "ppo": (
        _with(PPO, {"log_std_init": _DEVIATIONS}),
        _with(
            PPO,
            {
                "learning_rate": {"search": FloatDistribution(1e-5, 3e-3, log=True)},
                "n_steps": _powers(7, 14),
                "batch_size": _powers(6, 11),
                "ent_coef": _BONUS,
                **_NETWORKS_OF_PPO,
            },
        ),
    ),
    "a2c": (
        _with(A2C, {"log_std_init": _DEVIATIONS}),
        _with(A2C, {"n_steps": _powers(6, 12), "ent_coef": _BONUS, **_NETWORKS_OF_PPO}),
    ),
    "sac": (
        _with(SAC, {"ent_coef_initial": _ENTROPY}),
        _with(SAC, {"ent_coef_initial": _ENTROPY, "gradient_steps": {"searched_to": None}}),
        _with(
            SAC,
            {
                "ent_coef_initial": _ENTROPY,
                "buffer_size": _powers(15, 20),
                "train_freq": _powers(4, 8),
                "gradient_steps": _powers(1, 5),
                "hidden_sizes": _WIDE_NETWORKS,
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
