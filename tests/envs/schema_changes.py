"""Sites with a change of their schema."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from envs.scenarios.schema_shape import USES
from envs.scenarios.series_files import ARRIVAL, DEPARTURE

MALL = ("buildings", "mall")
SOCKET = (*MALL, "chargers", "motorcycle_001")
BATTERY = (*MALL, "electrical_storage")


Change = Callable[[dict[str, Any]], object]


def edit(path: Path, change: Change) -> Path:
    """Change a schema where it lies, which is given by its path or by its folder."""
    path = path / "schema.json" if path.is_dir() else path
    schema = json.loads(path.read_text(encoding="utf-8"))
    change(schema)
    path.write_text(json.dumps(schema), encoding="utf-8")
    return path


def edited(schema: Path, folder: Path, change: Change) -> Path:
    """Schema of a copy of a site with a change."""
    return edit(Path(shutil.copytree(schema.parent, folder, dirs_exist_ok=True)), change)


def put(*place: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(schema: dict[str, Any]) -> None:
        for name in place[:-1]:
            schema = schema[name]
        schema[place[-1]] = value

    return change


def drop(*place: str) -> Callable[[dict[str, Any]], None]:
    def change(schema: dict[str, Any]) -> None:
        for name in place[:-1]:
            schema = schema[name]
        del schema[place[-1]]

    return change


STEPS = pytest.mark.parametrize("per_hour", [1, 4], ids=["hours", "quarters"])


def in_steps(schema: Path, folder: Path, per_hour: int) -> Path:
    """Schema of a site in steps of an hour, as it is, or of a quarter; see `STEPS`."""
    return schema if per_hour == 1 else in_quarters(schema, folder)


def in_quarters(schema: Path, folder: Path) -> Path:
    """Schema of a copy of a site in steps of a quarter of an hour: sessions last as long, energies grow in the hour."""

    def change(schema: dict[str, Any]) -> None:
        schema["seconds_per_time_step"] = 900
        schema["simulation_end_time_step"] = 4 * schema["simulation_end_time_step"] + 3
        schema["observations"]["minutes"] = {"active": True, "shared_in_central_agent": True}
        for building in schema["buildings"].values():
            attributes = (building.get("dynamics") or {}).get("attributes", {})
            for i, name in enumerate(attributes.get("input_observation_names", ())):
                if name.endswith("_demand"):  # a model of quarters is one of their energies
                    attributes["input_normalization_maximum"][i] /= 4

    path = edited(schema, folder, change)
    for file in path.parent.glob("*.csv"):
        hours = pd.read_csv(file)
        rows, quarter = hours.loc[hours.index.repeat(4)].reset_index(drop=True), np.tile(np.arange(4), len(hours))
        if "non_shiftable_load" in rows:
            for column in rows.columns.intersection(["non_shiftable_load", *(f"{use}_demand" for use in USES)]):
                rows[column] *= 0.1 + 0.1 * quarter
            rows["minutes"] = 15 * quarter
        for column in rows.columns.intersection([DEPARTURE, ARRIVAL]):
            rows[column] = np.where(rows[column] > 0, 4 * rows[column] - quarter, rows[column])
        rows.to_csv(file, index=False)
    return path


# What people want of the temperature, as columns of a building's series.
SET_POINTS = {f"indoor_dry_bulb_temperature_{use}_set_point": point for use, point in (("cooling", 24.0), ("heating", 20.0))}


def with_series(schema: Path, **columns: Any) -> Path:
    """Set columns of the mall's series where they lie."""
    file = schema.parent / "mall.csv"
    pd.read_csv(file).assign(**columns).to_csv(file, index=False)
    return schema
