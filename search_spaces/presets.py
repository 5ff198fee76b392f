"""Named assignments: what the engineers of the site in Iquitos ran, and the defaults of libraries.

Each names what it sets; all else has the space's default. Of the engineers' reports, `rtx4060` is the first (its values for one
8 GB card, before and after their tuning), `script` the scripts that ran, `report` a run that they reported, `oom` the answer to
running out of memory. Values that
their scripts never read are left out where they contradict the others: A2C's batches of 1,024 and 2,048 out of rollouts of 16
and 128 transitions.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType

from search_spaces.space import Assignment, SearchSpace, SpaceError

# As the libraries have them: observations as they come, no limits.
_PLAIN: Assignment = {
    "learning_rate_schedule": "constant", "normalize_observations": False, "clip_obs": None, "log_std_init": 0.0,
}  # fmt: skip

_RTX4060_SAC: Assignment = {"learning_rate": 3e-4}

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
            "gae_lambda": 0.95, "clip_range": 0.2, "ent_coef": 0.0, "vf_coef": 0.5,
            "max_grad_norm": 0.5, "hidden_sizes": "64,64", "activation": "tanh",
        },
        "rllib": {
            **_PLAIN, "learning_rate": 5e-5, "n_steps": 4000, "batch_size": 128, "n_epochs": 30, "gamma": 0.99,
            "gae_lambda": 1.0, "clip_range": 0.3, "ent_coef": 0.0, "vf_coef": 1.0,
            "max_grad_norm": None, "target_kl": 0.01, "hidden_sizes": "256,256", "activation": "tanh",
            "state_dependent_std": True, "orthogonal_init": False,
        },
    },
    "sac": {
        "default": {},
        "rtx4060-before": {
            **_RTX4060_SAC, "batch_size": 512, "buffer_size": 5_000_000, "gradient_steps": 1024, "learning_starts": 1000,
            "train_freq": 1,
        },
        "rtx4060-after": {
            **_RTX4060_SAC, "batch_size": 256, "buffer_size": 1_000_000, "gradient_steps": 2048, "learning_starts": 500,
            "train_freq": 2,
        },
        "script-before": {
            "batch_size": 512, "buffer_size": 1_000_000, "gamma": 0.999, "learning_rate": 3e-4, "hidden_sizes": "1024,1024",
        },
        "script-after": {
            "batch_size": 256, "buffer_size": 500_000, "gamma": 0.99, "learning_rate": 3e-4, "hidden_sizes": "512,512",
        },
        "report": {
            "batch_size": 8192, "buffer_size": 200_000, "gradient_steps": 4, "train_freq": 1, "learning_rate": 3e-5,
            "gamma": 0.99, "target_entropy": -126.0, "bf16": True,
        },
        "oom-before": {"batch_size": 256, "buffer_size": 500_000, "hidden_sizes": "512,512", "bf16": True},
        "oom-safe": {"batch_size": 128, "buffer_size": 250_000, "hidden_sizes": "256,256", "bf16": False},
        "stable-baselines3": {
            **_PLAIN, "learning_rate": 3e-4, "buffer_size": 1_000_000, "learning_starts": 100, "batch_size": 256, "tau": 0.005,
            "gamma": 0.99, "train_freq": 1, "gradient_steps": 1, "ent_coef_initial": 1.0, "hidden_sizes": "256,256",
            "activation": "relu",
        },
        "rllib": {
            **_PLAIN, "learning_rate": 3e-4, "actor_learning_rate": 3e-5, "buffer_size": 1_000_000, "learning_starts": 1500,
            "batch_size": 256, "tau": 0.005, "gamma": 0.99, "train_freq": 1, "gradient_steps": 1, "n_step": 1,
            "ent_coef_initial": 1.0,
            "prioritized_replay": True, "priority_alpha": 0.6, "priority_beta": 0.4, "hidden_sizes": "256,256",
            "activation": "relu",
        },
    },
    "a2c": {
        "default": {},
        "rtx4060-before": {**_RTX4060_A2C, "learning_rate": 0.002, "n_steps": 16},
        "rtx4060-after": {**_RTX4060_A2C, "learning_rate": 0.001, "n_steps": 128},
        "script-before": {"learning_rate": 7e-4, "n_steps": 2048, "hidden_sizes": "1024,1024"},
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
