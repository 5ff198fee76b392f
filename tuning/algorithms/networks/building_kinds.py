"""What a policy that acts for single buildings sees and moves, and which sites it fits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from envs.district import COMMON, District, is_energy
from envs.observation import DAY_PEAK_NAME, PEAK_NAMES, PERIODS
from envs.seen import PLANNED_NET

HOURS, HAS = "battery_hours", "has "  # kinds of what never changes of a building; the first in tens of hours
CHARGER = "charger "  # kind of a charger's action, with its number in the building


class UnfitError(ValueError):
    """A policy cannot act on a site; says why."""


@dataclass(frozen=True)
class BuildingKinds:
    """What a policy for single buildings sees and moves, whichever site it acts on.

    Energies of a building are in parts of its size (`Buildings.power_kw`), peaks of the site in parts of the sum of these.
    Bounds are common to a kind: so equal numbers mean the same for all buildings.
    """

    # Kinds of a building's observations. Of chargers that follow the rule these are means, else each has its number.
    own: tuple[str, ...]
    own_bounds: tuple[tuple[float, float], ...]  # of each, least and greatest value
    # Kinds of what never changes of a building: hours of its battery, and whether it has what some buildings lack.
    fixed: tuple[str, ...]
    common: tuple[str, ...]  # kinds of what belongs to no building
    common_bounds: tuple[tuple[float, float], ...]
    actions: tuple[str, ...]  # kinds of a building's actions
    learn_charging: bool  # whether it learns chargers' actions; else vehicles charge as on the uncontrolled site
    initial_charging: float  # see `UncontrolledCharging`

    @classmethod
    def of(cls, site: District, learn_charging: bool = False, initial_charging: float = 1.0) -> BuildingKinds:
        """Kinds of a site, with bounds that hold for all of its buildings."""
        # A single charger is learned like any other device, as by a policy for the whole site.
        learned = learn_charging or site.layout.chargers is None
        parts = Parts.of(site, learned)
        observed = [parts.observed[n] for n in parts.acting]
        acted = [parts.actions[n] for n in parts.acting]
        kinds, actions, common = _union(observed), _union(acted), common_features(site)
        bounds = []
        for kind in kinds:
            each = [site.bounds(i) / unit(site, kind, n) for n, mine in enumerate(parts.observed) for i in mine.get(kind, ())]
            bounds.append((float(np.min(each)), float(np.max(each))))
        lacked = [kind for kind in kinds if any(kind not in mine for mine in observed)]
        lacked += [kind for kind in actions if any(kind not in mine for mine in acted)]
        known = [HOURS] if any(site.buildings.battery_hours) else []
        return cls(
            kinds,
            tuple(bounds),
            (*known, *(HAS + kind for kind in dict.fromkeys(lacked))),
            tuple(common),
            tuple(_common_bounds(site, kind, place) for kind, place in common.items()),
            actions,
            learned,
            initial_charging,
        )

    @property
    def size(self) -> int:
        """Features that a policy sees of a building."""
        return 2 * len(self.own) + len(self.fixed) + len(self.common)

    @property
    def unscaled(self) -> tuple[int, ...]:
        """Indices of the features that never change of a building: on another site they may differ from all that was seen."""
        return tuple(range(len(self.own), len(self.own) + len(self.fixed)))


@dataclass(frozen=True)
class Parts:
    """Features and actions of a site, building by building."""

    # Of each building, indices of the raw observations of a kind; of several their mean is meant.
    observed: tuple[dict[str, tuple[int, ...]], ...]
    actions: tuple[dict[str, int], ...]  # of each building, index of the action of a kind

    @classmethod
    def of(cls, site: District, learn_charging: bool) -> Parts:
        """Features and actions of a site."""
        parts = [_part(site, n, learn_charging) for n in range(site.size)]
        return cls(tuple(observed for observed, _ in parts), tuple(actions for _, actions in parts))

    @property
    def acting(self) -> list[int]:
        """Buildings with actions."""
        return [n for n, actions in enumerate(self.actions) if actions]


def _part(site: District, n: int, learn_charging: bool) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
    observed: dict[str, tuple[int, ...]] = {kind: (i,) for kind, i in site.observations_of(n).items()}
    actions = site.actions_of(n)
    for number, (action, features) in enumerate(site.chargers_of(n), 1):
        if learn_charging:
            actions[f"{CHARGER}{number}"] = action
        for kind, i in features.items():
            name = f"{kind} {number}" if learn_charging else kind
            observed[name] = (*observed.get(name, ()), i)
    return observed, actions


def why_unfit(policy: BuildingKinds, site: District) -> str | None:
    """Why a policy cannot act on a site, in words; None where it can.

    It can on any number of buildings, known or not, that observe what it sees and have no device that it does not know.
    """
    common, parts = common_features(site), Parts.of(site, policy.learn_charging)
    missing = [kind for kind in policy.common if kind not in common]
    if missing:
        return f"the site does not observe {missing[0]}"
    may_lack = {kind.removeprefix(HAS) for kind in policy.fixed} | {kind for kind in policy.own if is_energy(kind)}
    for n in parts.acting:
        lacked = [kind for kind in policy.own if kind not in parts.observed[n] and kind not in may_lack]
        if lacked:
            return f"building {n + 1} of the site does not observe {lacked[0]}"
        unknown = [kind for kind in parts.actions[n] if kind not in policy.actions]
        if unknown:
            return f"building {n + 1} of the site has the action {unknown[0]}"
    return None if parts.acting else "no building of the site has an action"


def common_features(site: District) -> dict[str, int]:
    """Features of the site's observation that belong to no building, by kind."""
    layout, owners = site.layout, site.buildings.observations
    common = [i for i in range(len(layout.names)) if i >= len(owners) or owners[i] == COMMON]
    cosines = [len(layout.names) + j for j, i in enumerate(layout.periodic) if i in common]
    names = layout.scaled_names
    return {names[i]: i for i in [*common, *cosines]}


def is_cyclic(site: District, place: int) -> bool:
    """Whether a feature is a sine or a cosine."""
    names = site.layout.names
    return place >= len(names) or names[place] in PERIODS


def unit(site: District, kind: str, building: int) -> float:
    """What values of a kind are divided by: the size of the building or of the site for energies and peaks, else 1."""
    power = site.buildings.power_kw
    if building == COMMON:
        return sum(power) if kind in (*PEAK_NAMES, DAY_PEAK_NAME, PLANNED_NET) else 1.0
    return power[building] if is_energy(kind) else 1.0


def _common_bounds(site: District, kind: str, place: int) -> tuple[float, float]:
    if is_cyclic(site, place):
        return (-1.0, 1.0)
    low, high = (site.bounds(place) / unit(site, kind, COMMON)).tolist()
    return (low, high)


def _union(parts: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kind for part in parts for kind in part))
