"""Which features and actions of a site belong to which of its buildings, and how large these are."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from envs.observation import CHARGER_ACTION, ObservationLayout, charger_observations
from envs.seen import PLANNED_BATTERY

COMMON = -1  # owner of what belongs to no single building
BUILDING_REWARDS: Final = "building_rewards"  # in infos of environments: what each earned in a step, shape (copies, N)
_ENERGIES = frozenset({"non_shiftable_load", "solar_generation", "net_electricity_consumption", PLANNED_BATTERY})
_ENERGY_ENDS = ("_demand", "_electricity_consumption")


@dataclass(frozen=True)
class Buildings:
    """The N buildings of a site."""

    # Building of each raw observation, in the order of `ObservationLayout.names` without the peaks of month and day; `COMMON`
    # for calendar, weather, prices and the like.
    observations: tuple[int, ...]
    actions: tuple[int, ...]  # building of each
    chargers: tuple[int, ...]  # raw observations that are of a charger
    # Size of each building, which its energies are measured in: nominal power of its battery or, without one, its largest load
    # in an hour; shape (N,).
    power_kw: tuple[float, ...]
    battery_hours: tuple[float, ...]  # capacity of each battery over its nominal power; 0 without one; shape (N,)
    # Hours in which its greatest action fills each tank of cooling, heating and hot water; 0 without an action; shape (N, 3).
    tank_hours: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True)
class District:
    """A site of several buildings."""

    layout: ObservationLayout
    buildings: Buildings

    @property
    def size(self) -> int:
        """Number of buildings."""
        return len(self.buildings.power_kw)

    def observations_of(self, building: int) -> dict[str, int]:
        """Indices of a building's raw observations by their kind, without those of chargers."""
        names, chargers = self.layout.names, set(self.buildings.chargers)
        return {names[i]: i for i, n in enumerate(self.buildings.observations) if n == building and i not in chargers}

    def actions_of(self, building: int) -> dict[str, int]:
        """Indices of a building's actions by their kind, without those of chargers."""
        return {name: i for name, i in self._owned(building) if not name.startswith(CHARGER_ACTION)}

    def chargers_of(self, building: int) -> list[tuple[int, dict[str, int]]]:
        """Of each charger with an action in a building the index of this action, and its raw observations by kind."""
        names, owners = self.layout.names, self.buildings.observations
        chargers = []
        for name, action in self._owned(building):
            if name.startswith(CHARGER_ACTION):
                kinds = charger_observations(name.removeprefix(CHARGER_ACTION))
                indices = [i for i in self.buildings.chargers if owners[i] == building and names[i] in kinds]
                chargers.append((action, {kinds[names[i]]: i for i in indices}))
        return chargers

    def _owned(self, building: int) -> list[tuple[str, int]]:
        return [(self.layout.actions[i], i) for i, n in enumerate(self.buildings.actions) if n == building]

    def bounds(self, observation: int) -> np.ndarray:
        """Least and greatest value of a raw observation, shape (2,)."""
        return np.array([self.layout.low[observation], self.layout.high[observation]])


def is_energy(kind: str) -> bool:
    """Whether a kind of observation is an energy of an hour [kWh], which grows with the building."""
    return kind in _ENERGIES or kind.endswith(_ENERGY_ENDS)
