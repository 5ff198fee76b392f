"""Means of a given site's series that few sites have, as in another unit. They are said, not refused."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from common.units import DAY
from envs.scenarios.csv_file import read_table
from envs.scenarios.schema_file import rooted
from envs.scenarios.shapes import included


@dataclass(frozen=True)
class Usual:
    """What the mean of a series usually is, for one building."""

    kind: str  # of the file, as a building names it
    column: str
    low: float
    high: float
    factor: float  # from the column's unit to that of the limits
    unit: str  # of the limits
    question: str

    def doubt(self, values: np.ndarray) -> str:
        """What is doubtful about a series; empty where nothing is, or where there is nothing but zeros."""
        mean = float(np.abs(values).mean()) * self.factor
        if self.low <= mean <= self.high or not mean > 0.0:
            return ""
        return f"{self.column} is {mean:.3g} {self.unit} on average, usual is {self.low:g} to {self.high:g}: {self.question}"


# Of PV from Helsinki in winter to the Atacama with a tracker.
_PV = Usual(
    "energy_simulation", "solar_generation", 0.3, 12.0, DAY / 1000.0, "kWh a day for each kW of PV",
    "its unit is W for each kW of nominal power; is it in kWh, or in W of the whole plant?",
)  # fmt: skip
_EVERY = (
    Usual(
        "carbon_intensity", "carbon_intensity", 0.003, 1.5, 1.0, "kg for each kWh",
        "is it in grams, pounds or tonnes, or for a MWh?",
    ),
    Usual(
        "pricing", "electricity_pricing", 0.002, 50.0, 1.0, "for each kWh",
        "is it for a MWh, or in cents? The bill is in the same money",
    ),
)  # fmt: skip
_LOAD, _SMALL, _LARGE = "non_shiftable_load", 0.0005, 200.0  # of the power of a building's PV and battery


def doubts(path: Path) -> list[str]:
    """Doubts about a schema's included buildings, the first of each kind, with how many more buildings have it."""
    schema = rooted(path)
    root, tables = Path(schema["root_directory"]), dict[str, Any]()
    by_kind: dict[str, list[str]] = {}
    for name, building in included(schema).items():

        def series(kind: str, column: str, building: Mapping[str, Any] = building) -> np.ndarray | None:
            file = building.get(kind)
            if file and file not in tables:
                tables[file] = read_table(root / file, {column})
            # What cannot be read was refused before.
            return None if not file or isinstance(tables[file], str) else np.asarray(tables[file][column], np.float64)

        for column, doubt in _of_building(building, series):
            by_kind.setdefault(column, []).append(f"{name}: {doubt}")
    more = {kind: len(lines) - 1 for kind, lines in by_kind.items()}
    words = {kind: f" (and {count} more building{'s' * (count > 1)})" if count else "" for kind, count in more.items()}
    return [f"doubtful: {lines[0]}{words[kind]}" for kind, lines in by_kind.items()]


def _of_building(building: Mapping[str, Any], series: Callable[[str, str], np.ndarray | None]) -> Iterator[tuple[str, str]]:
    pv, battery = (((building.get(name) or {}).get("attributes") or {}) for name in ("pv", "electrical_storage"))
    kwp, power = (float(attributes.get("nominal_power") or 0.0) for attributes in (pv, battery))
    usual = (*((_PV,) if kwp and pv.get("generation_mode") != "absolute" else ()), *_EVERY)
    for each in usual:
        values = series(each.kind, each.column)
        if values is not None and (doubt := each.doubt(values)):
            yield each.column, doubt
    load = series("energy_simulation", _LOAD)
    size = max(kwp, power)
    if load is not None and size and load.any() and not _SMALL * size <= load.mean() <= _LARGE * size:
        mean = f"{_LOAD} is {load.mean():.3g} kWh an hour on average"
        yield _LOAD, f"{mean}, beside {size:g} kW of PV or battery: is it in W or MWh?"
