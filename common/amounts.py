"""Amounts in tables: in a unit that fits their size, with at least three significant digits, and one number of decimals."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

THOUSANDS_FROM: Final = 100_000.0  # of the smaller unit; below, five digits are still read at once
SIGNIFICANT: Final = 3  # digits, at least
MOST_DECIMALS: Final = 3
SMALL: Final = 100.0  # values that are so many times smaller than the largest have fewer digits
# Unit: the unit of a thousand of it. Money has none.
_THOUSAND: Final = {
    "kWh": "MWh",
    "MWh": "GWh",
    "kg": "t",
    "t": "kt",
    "kW": "MW",
    "MW": "GW",
    "": "thousand",
    "thousand": "million",
}


@dataclass(frozen=True)
class Scale:
    """How the amounts of a column are shown.

    Attributes:
        unit: that they are shown in.
        factor: from the unit that they are given in.
        decimals: of each.
    """

    unit: str
    factor: float
    decimals: int

    @classmethod
    def of(cls, amounts: Iterable[float | None], unit: str) -> Scale:
        """The scale of a column.

        Args:
            amounts: of it; those that are missing or not finite do not count.
            unit: of the amounts: kWh, kg, kW, or nothing for money.
        """
        sizes = [abs(amount) for amount in amounts if amount is not None and math.isfinite(amount)]
        largest, factor = max(sizes, default=0.0), 1.0
        while largest * factor >= THOUSANDS_FROM and unit in _THOUSAND:
            unit, factor = _THOUSAND[unit], factor / 1000.0
        counted = [size * factor for size in sizes if size > 0.0 and size * SMALL >= largest]
        if not counted:
            return cls(unit, factor, 0)
        decimals = SIGNIFICANT - 1 - math.floor(math.log10(min(counted)))
        return cls(unit, factor, min(MOST_DECIMALS, max(0, decimals)))

    def text(self, amount: float | None) -> str:
        """An amount; empty where it is missing or not a number."""
        if amount is None or math.isnan(amount):
            return ""
        return f"{amount * self.factor:,.{self.decimals}f}"

    def heading(self, name: str) -> str:
        """Heading of the column: name and unit."""
        return f"{name}, {self.unit}" if self.unit else name
