"""What an experiment searches: its space, what is fixed in it, and where it starts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from search_spaces import Assignment, SearchSpace
from search_spaces.overrides import override
from tuning.algorithms.registry import algorithm
from tuning.experiment.settings import Settings

TRIALS = 4  # where neither their number nor a preset is given


@dataclass(frozen=True)
class Plan:
    """What is searched.

    Attributes:
        space: of the algorithm.
        fixed: hyperparameters that are not searched.
        starts: full assignments of the first trials.
    """

    space: SearchSpace
    fixed: Assignment
    starts: tuple[Assignment, ...]


def limits(steps: int) -> dict[str, float]:
    """What conditions of a space may name beside hyperparameters.

    Args:
        steps: budget of a trial.
    """
    return {"steps": float(steps)}


def plan(settings: Settings, space_file: Path | None) -> Plan:
    """What an experiment searches, checked.

    Args:
        settings: of one algorithm.
        space_file: changes to its space; None for none.

    Raises:
        SpaceError: for the first name or value that is not valid, or that the budget leaves no room for.
    """
    spec = algorithm(settings.algo)
    if space_file:
        spec = replace(spec, space=override(spec.space, space_file))
    space, budget = spec.space, limits(settings.steps)
    fixed = space.parse(settings.fixed_texts())
    space.check(fixed, budget)
    if settings.preset:
        return Plan(space, spec.preset(settings.preset, fixed, budget), ())
    starts = tuple(spec.preset(name, fixed, budget) for name in settings.start_from)
    return Plan(space, fixed, starts)


def with_trials(settings: Settings) -> Settings:
    """Settings with a number of trials, where none was given."""
    return settings if settings.trials else replace(settings, trials=1 if settings.preset else TRIALS)
