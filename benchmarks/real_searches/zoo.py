"""What rl-baselines3-zoo samples for PPO, and its sampler and pruner; ranges as in its version of 2025.

| hyperparameter | sampled from |
|---|---|
| batch_size | 32, 64, 128, 256, 512 |
| n_steps of each copy | 32, 64, 128, 256, 512, 1024, 2048 |
| 1 - gamma | 0.0001 to 0.03, logarithmic |
| 1 - gae_lambda | 0.0001 to 0.1, logarithmic |
| learning_rate | 1e-5 to 2e-3, logarithmic |
| ent_coef | 1e-8 to 0.1, logarithmic |
| clip_range | 0.1, 0.2, 0.3, 0.4 |
| n_epochs | 1, 5, 10, 20 |
| max_grad_norm | 0.3 to 2 |
| hidden layers | 64; 64 and 64; 256 and 256 |
| activation | tanh, relu |

TPE models all of them together; Optuna 5 has no other way, and the zoo turns it on too.
"""

from typing import Any

import optuna

STARTUP_TRIALS = 10  # of the sampler and of the pruner
WARMUP_PART = 3  # the pruner waits until a third of the evaluations
_LAYERS = {"tiny": [64], "small": [64, 64], "medium": [256, 256]}
_CHOICES: dict[str, list[Any]] = {
    "batch_size": [32, 64, 128, 256, 512],
    "n_steps": [32, 64, 128, 256, 512, 1024, 2048],
    "clip_range": [0.1, 0.2, 0.3, 0.4],
    "n_epochs": [1, 5, 10, 20],
    "net_arch": [*_LAYERS],
    "activation_fn": ["tanh", "relu"],
}
_RANGES = {  # low, high, whether it is logarithmic
    "one_minus_gamma": (1e-4, 0.03, True),
    "one_minus_gae_lambda": (1e-4, 0.1, True),
    "learning_rate": (1e-5, 2e-3, True),
    "ent_coef": (1e-8, 0.1, True),
    "max_grad_norm": (0.3, 2.0, False),
}


def sampled(trial: optuna.Trial) -> dict[str, Any]:
    """Draw what the zoo draws; plain values by the zoo's names."""
    choices = {name: trial.suggest_categorical(name, values) for name, values in _CHOICES.items()}
    numbers = {name: trial.suggest_float(name, low, high, log=log) for name, (low, high, log) in _RANGES.items()}
    return choices | numbers


def ppo_arguments(drawn: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments of Stable-Baselines3's PPO, but for the activation, which stays a text in `policy_kwargs`.

    Args:
        drawn: by `sampled`.
    """
    layers = _LAYERS[drawn["net_arch"]]
    return {
        **{
            name: drawn[name]
            for name in ("batch_size", "n_steps", "clip_range", "n_epochs", "learning_rate", "ent_coef", "max_grad_norm")
        },
        "gamma": 1 - drawn["one_minus_gamma"],
        "gae_lambda": 1 - drawn["one_minus_gae_lambda"],
        "policy_kwargs": {"net_arch": {"pi": layers, "vf": layers}, "activation_fn": drawn["activation_fn"]},
    }


def sampler(seed: int) -> optuna.samplers.BaseSampler:
    """The zoo's sampler."""
    return optuna.samplers.TPESampler(n_startup_trials=STARTUP_TRIALS, seed=seed)


def pruner(evaluations: int) -> optuna.pruners.BasePruner:
    """The zoo's pruner.

    Args:
        evaluations: of a whole trial.
    """
    return optuna.pruners.MedianPruner(n_startup_trials=STARTUP_TRIALS, n_warmup_steps=evaluations // WARMUP_PART)
