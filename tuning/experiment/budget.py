"""What a search may use: seconds of wall time, or environment steps of all trials together."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from common.errors import UsageError
from common.texts import duration

_UNITS: dict[str, tuple[Literal["seconds", "steps"], float]] = {
    "s": ("seconds", 1.0),
    "m": ("seconds", 60.0),
    "h": ("seconds", 3600.0),
    "d": ("seconds", 86400.0),
    "k": ("steps", 1e3),
    "M": ("steps", 1e6),
    "G": ("steps", 1e9),
    "": ("steps", 1.0),
}
_FORM = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)([a-zA-Z]?)")
_WORDS = "it takes a time, as in 90s, 30m or 8h, or environment steps of all trials, as in 500k or 20M"


@dataclass(frozen=True)
class Budget:
    """What a search may use.

    Attributes:
        amount: of the unit.
        unit: seconds of wall time, added up over all runs of the experiment; or environment steps, added up over all trials.
    """

    amount: float
    unit: Literal["seconds", "steps"]

    @classmethod
    def parse(cls, text: str) -> Budget:
        """The budget that a text names: 30m are minutes, 20M are millions of steps.

        Raises:
            UsageError: if it names none.
        """
        match = _FORM.fullmatch(text)
        if match is None or match[2] not in _UNITS:
            raise UsageError(f"--budget {text}: {_WORDS}")
        unit, factor = _UNITS[match[2]]
        amount = float(match[1]) * factor
        if not (0.0 < amount < math.inf):
            raise UsageError(f"--budget {text}: it is above 0")
        return cls(amount, unit)

    @property
    def is_time(self) -> bool:
        """Whether it is wall time."""
        return self.unit == "seconds"

    @property
    def shown(self) -> str:
        """The budget in words."""
        return f"{duration(self.amount)} of time" if self.is_time else f"{self.amount:,.0f} steps"
