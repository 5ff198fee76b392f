"""A site's series that forecasts are made of and made for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from common.units import DAY

Kind = Literal[
    "load", "pv", "carbon", "charging",
    "cooling_demand", "heating_demand", "dhw_demand", "cooling_efficiency", "heating_efficiency", "dhw_efficiency",
]  # fmt: skip
KINDS: tuple[Kind, ...] = ("load", "pv", "carbon", "charging")  # of all sites
# Of sites with tanks that act, by the tank's use.
DEMANDS: Mapping[str, Kind] = {"cooling": "cooling_demand", "heating": "heating_demand", "dhw": "dhw_demand"}
EFFICIENCIES: Mapping[str, Kind] = {
    "cooling": "cooling_efficiency", "heating": "heating_efficiency", "dhw": "dhw_efficiency",
}  # fmt: skip


@dataclass(frozen=True)
class SiteSeries:
    """Series of one year that no action can change.

    Price and calendar are not among them: a tariff is published, so the next hours are known.
    """

    hour: np.ndarray  # of the day, 0-23, shape (rows,)
    # Of each of its kinds, shape (buildings, rows). `load` is what buildings take without batteries and vehicles, `pv` the
    # generation, `charging` the vehicles' energy on the uncontrolled site [kWh], `carbon` the carbon intensity [kg/kWh]. Of
    # uses with a tank that acts there are the demand of heat or cold [kWh], and the efficiency of the device that serves it.
    values: Mapping[Kind, np.ndarray]
    # What else is observed in each hour, such as weather and its forecasts, shape (rows, features), float32.
    observed: np.ndarray
    names: tuple[str, ...]  # of these features, shape (features,)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kinds of its series: `KINDS`, and those of tanks that act."""
        return tuple(self.values)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.hour)


def same_hour_before(row: np.ndarray | int, ahead: np.ndarray) -> np.ndarray:
    """The latest known row with the hour of the day of a row that lies ahead; negative before the year's first."""
    return np.asarray(row + ahead - DAY * -(-ahead // DAY))


def next_rows(row: int, hours: int, rows: int) -> np.ndarray:
    """Rows of the next hours, the present one first, shape (hours,). Hours after a year's last are as a day before."""
    ahead = row + np.arange(hours)
    beyond = np.maximum(ahead - (rows - 1), 0)
    return np.asarray(ahead - DAY * -(-beyond // DAY))
