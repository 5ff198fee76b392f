"""Draws from a search space, as a search makes them."""

from collections.abc import Mapping

import optuna

from search_spaces import Assignment, SearchSpace


def suggested(
    space: SearchSpace, study: optuna.Study, fixed: Assignment | None = None, limits: Mapping[str, float] | None = None
) -> Assignment:
    """The assignment of a study's next trial."""
    fixed, limits = fixed or {}, limits or {}
    return space.assignment(study.ask(space.distributions(fixed, limits)).params, fixed, limits)


def drawn(
    space: SearchSpace,
    trials: int,
    fixed: Assignment | None = None,
    limits: Mapping[str, float] | None = None,
    seed: int = 0,
) -> list[Assignment]:
    """Random assignments."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
    return [suggested(space, study, fixed, limits) for _ in range(trials)]
