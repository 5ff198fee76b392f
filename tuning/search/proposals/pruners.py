"""How trials that do badly are stopped for good, by the names of `--scheduler`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from optuna.pruners import BasePruner, HyperbandPruner, MedianPruner, NopPruner, SuccessiveHalvingPruner

from tuning.experiment.settings import Settings

PRUNERS: Mapping[str, Callable[[int, int], BasePruner]] = {  # each takes the steps of a trial and its number of evaluations
    # It ends no trial: `tuning.search.promotion.thawing` decides which goes on.
    "freeze-thaw": lambda steps, reports: NopPruner(),
    # The factor of Ray's ASHA, as replayed.
    "asha": lambda steps, reports: SuccessiveHalvingPruner(min_resource=max(1, steps // reports), reduction_factor=4),
    # A trial gets at least its first evaluation.
    "hyperband": lambda steps, reports: HyperbandPruner(min_resource=max(1, steps // reports), max_resource=steps),
    # Before half of a trial ratings say little of its end: on `iquitos` their rank correlation is -.17 after a quarter, .79
    # after half (eight recorded trials). The default begins low there, and would have been stopped.
    "median": lambda steps, reports: MedianPruner(n_startup_trials=5, n_warmup_steps=steps // 2),
    "none": lambda steps, reports: NopPruner(),
}


def pruner_of(settings: Settings) -> BasePruner:
    """The pruner of an experiment.

    With a preset all trials are alike: those that are left of ones that were stopped would be the lucky ones.
    """
    return PRUNERS["none" if settings.preset else settings.scheduler](settings.steps, settings.reports)
