"""Thermal storages as the linear programme of model predictive control knows them.

A device serves a building's demand of cooling, heating or hot water, and fills the tank with what it could deliver more. The
tank gives what the device then need not. So a tank moves electricity in time like a battery, by the efficiency of its device.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from envs.batch_backend.tables import USES, Tables


@dataclass(frozen=True)
class Tanks:
    """The T tanks of a site year that have an action."""

    building: np.ndarray  # of each, shape (T,)
    use: np.ndarray  # index in `USES`, shape (T,)
    action: np.ndarray  # its index, shape (T,)
    capacity: np.ndarray  # heat or cold that it holds [kWh], shape (T,)
    root: np.ndarray  # part of the heat that is left one way, in and out, shape (T,)
    kept: np.ndarray  # part of the charge that an hour of standby leaves, shape (T,)
    device_kw: np.ndarray  # nominal power of its device, electric, shape (T,)
    greatest_in: np.ndarray  # by the tank itself and the range of its action [kW], shape (T,)
    greatest_out: np.ndarray  # likewise

    @classmethod
    def of(cls, tables: Tables) -> Tanks:
        """Tanks of a year, from its tables."""
        thermal = tables.site["thermal"]
        building, use = np.nonzero((thermal["action"] >= 0) & (thermal["capacity"] > 0.0))
        own = thermal[building, use]
        action = tables.site["action"][own["action"]]
        # An action is the part of its capacity that a tank takes in an hour.
        most_in, most_out = (action["low"] + action["span"]) * own["capacity"], -action["low"] * own["capacity"]
        return cls(
            building=building,
            use=use,
            action=own["action"],
            capacity=own["capacity"],
            root=own["root_efficiency"],
            kept=own["kept"],
            device_kw=own["device_power"],
            greatest_in=np.fmin(own["greatest_input"], most_in),
            greatest_out=np.fmin(own["greatest_output"], most_out),
        )

    def __len__(self) -> int:
        """Number of tanks."""
        return len(self.building)

    def limits(self, demand_kwh: np.ndarray, efficiency: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Most heat that tanks can take and give in an hour [kWh], from demand [kWh] and efficiency, all of shape (T, hours).

        What the device can deliver above the demand, and the demand; both within the limits of tank and action.
        """
        spare = np.maximum(self.device_kw[:, np.newaxis] * efficiency - demand_kwh, 0.0)
        return np.minimum(spare, self.greatest_in[:, np.newaxis]), np.minimum(demand_kwh, self.greatest_out[:, np.newaxis])

    def scattered(self, values: np.ndarray, buildings: int) -> np.ndarray:
        """Values of tanks, shape (T,), in the places of their buildings and uses, shape (N, 3), zero elsewhere."""
        found = np.zeros((buildings, len(USES)), dtype=values.dtype)
        found[self.building, self.use] = values
        return found


def uses_of(tables: Tables) -> tuple[str, ...]:
    """Uses of which some building of a year has a tank that acts, in the order of `USES`."""
    acts = set(Tanks.of(tables).use.tolist())
    return tuple(use for i, use in enumerate(USES) if i in acts)
