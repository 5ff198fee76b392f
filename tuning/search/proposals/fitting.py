"""The space of one experiment: what is searched follows from what acts on its site."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from optuna.distributions import CategoricalDistribution

from envs.environments.fit import why_no_plan
from envs.environments.split_layout import same_buildings
from envs.scenarios.scenario import SPLITS, Scenario
from envs.scenarios.schema_file import active_actions, count_buildings, read_schema
from envs.scenarios.shapes import is_left_out
from search_spaces import SearchSpace, SpaceError
from search_spaces.parameter import Parameter

CHARGING = ("learn_charging", "initial_charging")
SHARED, PLAN = "shared_policy", "plan"
STORAGES = frozenset({"electrical_storage", "cooling_storage", "heating_storage", "dhw_storage"})


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


def fitted(space: SearchSpace, site: Scenario, plans: bool = False, fixed: Collection[str] = ()) -> Fitted:
    """The space of an experiment: without what does nothing on its site, and with what decides there.

    What the user's file says of a hyperparameter holds. What the search may draw and does not fit into memory is refused trial
    by trial, so the machine changes nothing here.

    Args:
        space: of the algorithm, with the changes of the user's file.
        site: of the experiment. Its schema is read, and where plans are asked for, the tables of a year.
        plans: whether to search with and without a plan of model predictive control, where the site has one.
        fixed: names of what is not searched after all; no line is about it.

    Raises:
        SpaceError: if the user's file searches what does nothing on the site.
    """
    notes = []
    for name in CHARGING if not _charges(site) else ():
        if name in space and space[name].search is not None:
            if own := space[name].own:
                raise SpaceError(f"{name}: {site.title} has no chargers, so it does nothing there; remove it from {own.source}")
            space = _with(space, replace(space[name], search=None))
            notes.append(f"not searched, as {site.title} has no chargers: {name}")
    several = _can_share(site)
    if several and SHARED in space and space[SHARED].own is None:
        space = _with(space, replace(space[SHARED], search=CategoricalDistribution((False, True))))
        if SHARED not in fixed:
            notes.append(f"searched too, as {site.title} has several buildings: {SHARED}")
    if plans and PLAN in space and space[PLAN].own is None and _has_plan(site, several):
        space = _with(space, replace(space[PLAN], search=CategoricalDistribution(("none", "learned"))))
        if PLAN not in fixed:
            notes.append(
                f"searched too, as {site.title} has model predictive control: {PLAN}; such a policy needs its plan "
                f"wherever it acts, and --set {PLAN}=none leaves it out"
            )
    return Fitted(space, tuple(notes), several)


def _charges(site: Scenario) -> bool:
    """Whether vehicles charge on a site. All generated ones have chargers."""
    return site.schema is None or any(own.get("chargers") for own in _buildings(site.schema))


def _has_plan(site: Scenario, several: bool) -> bool:
    """Whether policies of a site can start from a plan, which is one of storages. Those of all generated sites can."""
    return not site.schema or (_storages_act(site, several) and not why_no_plan(site))


def _storages_act(site: Scenario, several: bool) -> bool:
    """Whether a battery or a tank of a given site acts, and policies with a plan of it fit.

    A policy turns a plan's energy into actions by the size of the storage that it was trained with, so another building would
    get wrong ones. Nothing was measured of plans where one policy has the actions of several buildings. So where policies
    cannot be shared, the site has one building, the same in all splits.
    """
    schema = site.schema_path(site.years("train")[0])
    buildings = _buildings(schema)
    active = STORAGES.intersection(active_actions(schema))
    # An action without the storage moves nothing.
    if not any(active.intersection(own).difference(own.get("inactive_actions") or ()) for own in buildings):
        return False
    return several or (len(buildings) == 1 and _same_in_all_splits(site))


def _buildings(schema: Path) -> list[Any]:
    return [own for own in read_schema(schema)["buildings"].values() if not is_left_out(own)]


def _can_share(site: Scenario) -> bool:
    """Whether policies with and without sharing can run on all splits of a site."""
    if not site.schema or not _same_in_all_splits(site):
        return False
    return count_buildings(site.schema_path(site.years("train")[0])) > 1


def _same_in_all_splits(site: Scenario) -> bool:
    return all(same_buildings(site, split) for split in SPLITS)


def _with(space: SearchSpace, parameter: Parameter) -> SearchSpace:
    return SearchSpace(tuple(parameter if own.name == parameter.name else own for own in space.parameters))
