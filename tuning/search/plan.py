"""The plan of a search: its space, the fixed values in it, and the assignments that it starts with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from envs.objective.weights import Weights
from envs.seen import HYPERPARAMETERS, Seen
from search_spaces import Assignment, SearchSpace
from search_spaces.overrides import override
from search_spaces.parameter import Value
from tuning.algorithms.registry import algorithm
from tuning.experiment.settings import WHOLE_TRIALS, Settings


@dataclass(frozen=True)
class Plan:
    """What a search varies, and what it does not.

    Attributes:
        space: of the algorithm.
        fixed: values of hyperparameters that are not searched.
        starts: full assignments of the first trials.
    """

    space: SearchSpace
    fixed: Assignment
    starts: tuple[Assignment, ...]


def limits(steps: int) -> dict[str, float]:
    """Values that the conditions of a space may use beside hyperparameters.

    Args:
        steps: budget of a trial, environment steps.
    """
    return {"steps": float(steps)}


def plan(settings: Settings, space_file: Path | None) -> Plan:
    """Plan a search, and check every name and value in it.

    Args:
        settings: of one algorithm.
        space_file: TOML file with changes to its space; None for none.

    Raises:
        SpaceError: for the first name or value that is not valid, or not possible with the budget of steps.
    """
    spec = algorithm(settings.algo)
    if space_file:
        spec = replace(spec, space=override(spec.space, space_file))
    space, budget = spec.space, limits(settings.steps)
    fixed = space.parse(settings.fixed_texts())
    space.check_fixed(fixed)
    fixed = {**space.own_values(), **fixed}
    space.check(fixed, budget)
    if settings.preset:
        return Plan(space, spec.preset(settings.preset, fixed, budget), ())
    starts = tuple(spec.preset(name, fixed, budget) for name in settings.start_from)
    return Plan(space, fixed, starts)


def seen_by(planned: Plan, weights: Weights) -> tuple[Seen, ...]:
    """All that policies of a search may see, each kind by itself; the first is what all of them see.

    Args:
        planned: the search.
        weights: of the reward.
    """
    found = [Seen.of(weights)]
    for name in HYPERPARAMETERS:
        if name in planned.space:
            values = [*_values(planned, name), *(start[name] for start in planned.starts)]
            found += [Seen.of(weights, {name: value}) for value in values]
    return tuple(dict.fromkeys(found))


def _values(planned: Plan, name: str) -> tuple[Value, ...]:
    """Values that a search may give a hyperparameter; of a range the greatest."""
    parameter = planned.space[name]
    if name in planned.fixed:
        return (planned.fixed[name],)
    if parameter.search is None:
        return (parameter.default,)
    choices = getattr(parameter.search, "choices", None)
    return tuple(choices) if choices else (parameter.scale.outer(parameter.search.high),)  # type: ignore[attr-defined]


def with_trials(settings: Settings) -> Settings:
    """Settings with the default number of trials, if they have none and no budget that ends the search."""
    if settings.trials or settings.limit:
        return settings
    return replace(settings, trials=1 if settings.preset else WHOLE_TRIALS)
