"""Makes a folder that CityLearn 3 takes of one that was made for CityLearn 2.4. Here are the options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro


@dataclass(frozen=True)
class ConversionOptions:
    """Make a folder for CityLearn 3 of a site that was made for version 2.4, and say all that differs.

    The original stays as it is. Nothing is written while something is to be decided.
    """

    schema: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="SCHEMA")]
    """Its schema.json."""
    to: Path
    """Folder that is made."""
    washing_machines: Literal["", "leave-out", "deferrable"] = ""
    """Leave them out, or make deferrable appliances of them, which may start in the same hours and take the same energy."""
    arrival_soc: str = ""
    """State of charge of vehicles whose arrival lacks it: a share of the battery, as 0.5, or mean: that of other arrivals."""
    small_soc: Literal["", "percent", "share"] = ""
    """What a state of charge of at most 1 means beside percentages: a percentage, so that 1 is nearly empty, or a share, as
    CityLearn 3 reads it, so that 1 is full."""
