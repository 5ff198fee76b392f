"""Search spaces for any environment, made of those for sites: without what only a site has, and for rewards of any scale."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from optuna.distributions import FloatDistribution, IntDistribution

from search_spaces.common import CHARGING, PLAN, SHARED_POLICY
from search_spaces.parameter import Assignment
from search_spaces.space import SearchSpace

DEVIATIONS: Final = ("log_std_init", "state_dependent_std")  # of actions that are numbers; choices have none
OF_A_SITE: Final = tuple(parameter.name for parameter in (*CHARGING, SHARED_POLICY, PLAN))

# Of each algorithm: by the name of a hyperparameter, what is other than on a site. Rewards are divided by the deviation of
# returns, so that no range depends on their scale.
_ALWAYS: Final[Mapping[str, Any]] = {"normalize_rewards": {"default": True, "search": None}}
_GRADIENT: Final[Mapping[str, Any]] = {
    "ent_coef": {"search": FloatDistribution(1e-6, 3e-2, log=True)},
    # Actions lie within [-1, 1].
    "log_std_init": {"default": -0.5, "search": FloatDistribution(-2.0, 0.5), "searched_from": None},
}
# Rollouts and minibatches as people train on Gymnasium's environments: a site's hours are cheaper and more alike.
OTHER: Final[Mapping[str, Mapping[str, Any]]] = {
    "ppo": {
        **_ALWAYS,
        **_GRADIENT,
        "learning_rate": {"default": 3e-4},
        "n_steps": {"default": 2048, "search": IntDistribution(8, 13)},
        "batch_size": {"default": 64, "search": IntDistribution(2, 6)},
        "n_epochs": {"default": 10, "search": IntDistribution(3, 20, log=True)},
    },
    "a2c": {**_ALWAYS, **_GRADIENT, "n_steps": {"default": 128, "search": IntDistribution(5, 10)}},
    "sac": {
        **_ALWAYS,
        "train_freq": {"default": 8},
        # From a gradient step for each transition to one for eight.
        "gradient_steps": {"default": 4, "search": IntDistribution(0, 3), "searched_to": None},
        "ent_coef_initial": {"default": 0.1, "search": FloatDistribution(1e-2, 1.0, log=True)},
        "hidden_sizes": {"default": "256,256"},
    },
}


def for_environment(algo: str, space: SearchSpace) -> SearchSpace:
    """The space of an algorithm for any environment; of one from another package its own, without what only a site has."""
    other = OTHER.get(algo, {})
    kept = [parameter for parameter in space.parameters if parameter.name not in OF_A_SITE]
    return SearchSpace(tuple(replace(parameter, **other.get(parameter.name, {})) for parameter in kept))


def presets_for_environment(presets: Mapping[str, Assignment]) -> dict[str, Assignment]:
    """Presets that set nothing that only a site has."""
    return {name: values for name, values in presets.items() if not values.keys() & set(OF_A_SITE)}
