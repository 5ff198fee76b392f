"""How Optuna proposes hyperparameters, by the names of `--sampler`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from optuna.samplers import BaseSampler, CmaEsSampler, GPSampler, RandomSampler, TPESampler

SAMPLERS: Mapping[str, Callable[[int], BaseSampler]] = {  # each takes a seed
    "tpe": lambda seed: TPESampler(seed=seed),
    "random": lambda seed: RandomSampler(seed=seed),
    # Both sample some parameters independently, and would warn of each.
    "gp": lambda seed: GPSampler(seed=seed, warn_independent_sampling=False),
    "cmaes": lambda seed: CmaEsSampler(seed=seed, warn_independent_sampling=False),
}
