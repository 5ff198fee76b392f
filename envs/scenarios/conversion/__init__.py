"""Makes a folder that CityLearn 3 takes of one that was made for CityLearn 2. Here are the options."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class ConversionOptions:
    """What is made of which site; an empty decision is asked for where the files need it."""

    schema: Path
    to: Path  # folder that is made
    washing_machines: Literal["", "leave-out", "deferrable"] = ""
    arrival_soc: str = ""  # a share of the battery, or `mean`
    small_soc: Literal["", "percent", "share"] = ""
