"""The `schema.json` of a synthetic year, with series of its own: the days of the train split recombined."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from envs.cache import cached_folder
from envs.scenarios.csv_file import PARQUET
from envs.scenarios.recombination import Calendar, Recombination
from envs.scenarios.references import DEVICES, root_of
from envs.scenarios.schema_file import rooted
from envs.scenarios.schema_shape import FIRST, LAST
from envs.scenarios.shapes import is_left_out
from envs.scenarios.tariff import FILE_NAME

if TYPE_CHECKING:
    import pandas as pd

_SHARED = ("weather", "carbon_intensity", "pricing")


@dataclass(frozen=True)
class Source:
    """What a synthetic year is made from; rows count from the first that the schema runs.

    Attributes:
        trains: first row of each range of the train split, and the one after its last.
        first: row with which the year that is copied begins.
        rows: of that year.
        buildings: that are simulated; None for all that the schema includes.
        entropy: all draws follow from these numbers.
    """

    trains: tuple[tuple[int, int], ...]
    first: int
    rows: int
    buildings: tuple[str, ...] | None
    entropy: tuple[int, ...]


def recombined_schema(path: Path, source: Source, key: str) -> Path:
    """Path of a synthetic year's schema in the cache, written with its series the first time.

    Args:
        path: of the scenario's `schema.json`, which was checked.
        source: what the year is made from.
        key: of the folder in the cache.
    """
    return cached_folder(key, lambda folder: _write(path, source, folder)) / "schema.json"


def _write(path: Path, source: Source, folder: Path) -> None:
    schema = rooted(path)
    root, first, rows = root_of(path, schema), int(schema[FIRST]), int(schema[LAST]) - int(schema[FIRST]) + 1
    # Others would name files that are not in the new folder.
    buildings = {
        name: dict(own)
        for name, own in schema["buildings"].items()
        if not is_left_out(own) and (source.buildings is None or name in source.buildings)
    }
    simulated = list(buildings.values())
    read: dict[str, pd.DataFrame] = {}

    def table(name: str) -> pd.DataFrame:
        if name not in read:
            read[name] = _table(root / name).iloc[first : first + rows].reset_index(drop=True)
        return read[name]

    trains = np.zeros(rows, dtype=bool)
    for begin, end in source.trains:
        trains[begin:end] = True
    hours = table(simulated[0]["energy_simulation"])
    calendar = Calendar.of(hours["day_type"].to_numpy(), hours["hour"].to_numpy(), trains)
    made = Recombination(calendar, source.first, source.rows, source.entropy)
    written: dict[str, str] = {}
    for kind in _SHARED:
        for own in simulated:
            if (name := own.get(kind)) is None:
                continue
            if name not in written:
                written[name] = f"{kind}-{len(written)}.csv"
                made.weather(table(name), hours).to_csv(folder / written[name], index=False)
            own[kind] = written[name]
    loads = [table(own["energy_simulation"]) for own in simulated]
    for index, lender in enumerate(made.lenders([_devices(own) for own in simulated])):
        own = simulated[index]
        own["energy_simulation"] = f"building-{index}.csv"
        made.building(loads, index, lender).to_csv(folder / own["energy_simulation"], index=False)
        if own.get("chargers"):
            own["chargers"] = _chargers(own["chargers"], table, made.rows, folder, f"charger-{index}")
    schema |= {FIRST: 0, LAST: source.rows - 1, "buildings": buildings, "root_directory": None}
    schema |= {"start_date": None, "episode_time_steps": None}
    (folder / "schema.json").write_text(json.dumps(schema, indent=1), encoding="utf-8")
    if (path.parent / FILE_NAME).exists():
        shutil.copyfile(path.parent / FILE_NAME, folder / FILE_NAME)


def _chargers(
    chargers: Mapping[str, Any], table: Callable[[str], pd.DataFrame], rows: np.ndarray, folder: Path, prefix: str
) -> dict[str, Any]:
    """Chargers with sessions in the rows of the new year; they stay where they are."""
    found = {}
    for index, (name, own) in enumerate(chargers.items()):
        file = f"{prefix}-{index}.csv"
        table(own["charger_simulation"]).iloc[rows].to_csv(folder / file, index=False)
        found[name] = {**own, "charger_simulation": file}
    return found


def _devices(building: Mapping[str, Any]) -> tuple[str, ...]:
    """Devices of a building; those with the same may exchange their loads."""
    return tuple(name for name in (*DEVICES, "chargers") if building.get(name))


def _table(file: Path) -> pd.DataFrame:
    import pandas as pd

    return pd.read_parquet(file) if file.suffix.lower() in PARQUET else pd.read_csv(file, skip_blank_lines=False)
