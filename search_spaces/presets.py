"""Named assignments: what the engineers of the site in Iquitos ran, and the defaults of libraries.

Each names what it sets; all else has the space's default. Of the engineers' reports, `rtx4060` is the first (its values for one
8 GB card, before and after their tuning), `script` the scripts that ran, `oom` the answer to running out of memory. Values that
their scripts never read are left out where they contradict the others: A2C's batches of 1,024 and 2,048 out of rollouts of 16
and 128 transitions.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType

from search_spaces.space import Assignment, SearchSpace, SpaceError

# As the libraries have them: observations as they come, no limits, perceptrons.
_PLAIN: Assignment = {
    "learning_rate_schedule": "constant", "normalize_observations": False, "clip_obs": None, "charger_network": "separate",
    "initial_charging": 0.0, "log_std_init": 0.0,
}  # fmt: skip

_RTX4060_PPO: Assignment = {
    "learning_rate": 3e-4, "learning_rate_schedule": "linear", "batch_size": 512, "gamma": 0.99, "gae_lambda": 0.95,
    "clip_range": 0.2, "ent_coef": 0.001, "max_grad_norm": 0.5, "target_kl": 0.02,
}  # fmt: skip

_RTX4060_A2C: Assignment = {
    "learning_rate_schedule": "exponential", "optimizer": "rmsprop", "gamma": 0.99, "gae_lambda": 0.9, "ent_coef": 0.02,
    "vf_coef": 0.5, "max_grad_norm": 1.0, "reward_scale": 1.2, "normalize_advantage": True,
}  # fmt: skip

PRESETS: dict[str, dict[str, Assignment]] = {
    "ppo": {
        "default": {},
        "rtx4060-before": {**_RTX4060_PPO, "n_steps": 4096, "n_epochs": 25},
        "rtx4060-after": {**_RTX4060_PPO, "n_steps": 8192, "n_epochs": 40},
        "script-before": {
            "learning_rate": 2e-4, "n_steps": 2048, "batch_size": 128, "n_epochs": 20, "hidden_sizes": "1024,1024",
        },
        "script-after": {
            "learning_rate": 3e-4, "n_steps": 1024, "batch_size": 64, "n_epochs": 10, "hidden_sizes": "512,512",
        },
        "oom-before": {"n_steps": 1024, "batch_size": 64, "n_epochs": 10},
        "oom-safe": {"n_steps": 1024, "batch_size": 32, "n_epochs": 5},
        "stable-baselines3": {
            **_PLAIN, "learning_rate": 3e-4, "n_steps": 2048, "batch_size": 64, "n_epochs": 10, "gamma": 0.99,
            "gae_lambda": 0.95, "clip_range": 0.2, "clip_per_action": False, "ent_coef": 0.0, "vf_coef": 0.5,
            "max_grad_norm": 0.5, "hidden_sizes": "64,64", "activation": "tanh",
        },
        "rllib": {
            **_PLAIN, "learning_rate": 5e-5, "n_steps": 4000, "batch_size": 128, "n_epochs": 30, "gamma": 0.99,
            "gae_lambda": 1.0, "clip_range": 0.3, "clip_per_action": False, "ent_coef": 0.0, "vf_coef": 1.0,
            "max_grad_norm": None, "target_kl": 0.01, "hidden_sizes": "256,256", "activation": "tanh",
            "state_dependent_std": True, "orthogonal_init": False,
        },
    },
    "a2c": {
        "default": {},
        "rtx4060-before": {**_RTX4060_A2C, "learning_rate": 0.002, "n_steps": 16},
        "rtx4060-after": {**_RTX4060_A2C, "learning_rate": 0.001, "n_steps": 128},
        "script-before": {"n_steps": 2048, "hidden_sizes": "1024,1024"},
        "script-after": {"n_steps": 512, "hidden_sizes": "512,512"},
        "oom-before": {"n_steps": 256},
        "oom-safe": {"n_steps": 128, "batch_size": 32},
        "stable-baselines3": {
            **_PLAIN, "learning_rate": 7e-4, "optimizer": "rmsprop", "n_steps": 5, "gamma": 0.99, "gae_lambda": 1.0,
            "ent_coef": 0.0, "vf_coef": 0.5, "max_grad_norm": 0.5, "normalize_advantage": False,
            "hidden_sizes": "64,64", "activation": "tanh",
        },
    },
}  # fmt: skip


def preset(
    algo: str,
    name: str,
    space: SearchSpace,
    given: Assignment | None = None,
    limits: Mapping[str, float] = MappingProxyType({}),
) -> Assignment:
    """Full assignment of a name.

    Args:
        algo: whose.
        name: of the preset.
        space: of the algorithm; its defaults hold where neither the preset nor what is given says otherwise.
        given: values that go before the preset's.
        limits: see `SearchSpace.check`.

    Raises:
        SpaceError: if there is no such preset, with the nearest; or if the values cannot go together.
    """
    known = PRESETS[algo]
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        raise SpaceError(f"no preset {name} of {algo}: {hint}")
    values = space.complete({**known[name], **(given or {})}, limits)
    space.check(values, limits)
    return values
