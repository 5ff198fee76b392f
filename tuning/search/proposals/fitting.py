"""The space of one experiment: what is searched follows from what acts on its site."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from optuna.distributions import CategoricalDistribution

from envs.environments.fit import can_share, can_start_from_plan, has_chargers
from envs.task import Task
from search_spaces import SearchSpace, SpaceError
from search_spaces.parameter import Parameter

CHARGING = ("learn_charging", "initial_charging")
SHARED, PLAN = "shared_policy", "plan"


@dataclass(frozen=True)
class Fitted:
    """A space that fits its site.

    Attributes:
        space: with which the experiment draws.
        notes: what differs from the algorithm's own space, each in a line.
        several: whether the site has several buildings, the same in all splits.
    """

    space: SearchSpace
    notes: tuple[str, ...] = ()
    several: bool = False


def fitted(space: SearchSpace, task: Task, plans: bool = False, fixed: Collection[str] = ()) -> Fitted:
    """The space of an experiment: without what does nothing on its site, and with what decides there.

    What the user's file says of a hyperparameter holds. What the search may draw and does not fit into memory is refused trial
    by trial, so the machine changes nothing here.

    Args:
        space: of the algorithm, with the changes of the user's file.
        task: of the experiment. The schema of its site is read, and where plans are asked for, the tables of a year.
        plans: whether to search with and without a plan of model predictive control, where the site has one.
        fixed: names of what is not searched after all; no line is about it.

    Raises:
        SpaceError: if the user's file searches what does nothing on the site.
    """
    notes, site = [], task.site
    for name in CHARGING if not has_chargers(site) else ():
        if name in space and space[name].search is not None:
            if own := space[name].own:
                raise SpaceError(f"{name}: {site.title} has no chargers, so it does nothing there; remove it from {own.source}")
            space = _with(space, replace(space[name], search=None))
            notes.append(f"not searched, as {site.title} has no chargers: {name}")
    several = can_share(site)
    if several and SHARED in space and space[SHARED].own is None:
        space = _with(space, replace(space[SHARED], search=CategoricalDistribution((False, True))))
        if SHARED not in fixed:
            notes.append(f"searched too, as {site.title} has several buildings: {SHARED}")
    if plans and PLAN in space and space[PLAN].own is None and can_start_from_plan(site):
        space = _with(space, replace(space[PLAN], search=CategoricalDistribution(("none", "learned"))))
        if PLAN not in fixed:
            notes.append(
                f"searched too, as {site.title} has model predictive control: {PLAN}; such a policy needs its plan "
                f"wherever it acts, and --set {PLAN}=none leaves it out"
            )
    return Fitted(space, tuple(notes), several)


def _with(space: SearchSpace, parameter: Parameter) -> SearchSpace:
    return SearchSpace(tuple(parameter if own.name == parameter.name else own for own in space.parameters))
