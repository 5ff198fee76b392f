"""How Optuna stops trials that do badly, by the names of `--pruner`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from optuna.pruners import BasePruner, HyperbandPruner, MedianPruner, NopPruner

PRUNERS: Mapping[str, Callable[[int, int], BasePruner]] = {  # each takes the steps of a trial and its number of evaluations
    "median": lambda steps, reports: MedianPruner(n_startup_trials=5),
    # A trial gets at least its first evaluation.
    "hyperband": lambda steps, reports: HyperbandPruner(min_resource=steps // reports, max_resource=steps),
    "none": lambda steps, reports: NopPruner(),
}
