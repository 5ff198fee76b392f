"""Sites with a change of their schema."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

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


# What people want of the temperature, as columns of a building's series.
SET_POINTS = {f"indoor_dry_bulb_temperature_{use}_set_point": point for use, point in (("cooling", 24.0), ("heating", 20.0))}


def with_series(schema: Path, **columns: Any) -> Path:
    """Set columns of the mall's series where they lie."""
    file = schema.parent / "mall.csv"
    pd.read_csv(file).assign(**columns).to_csv(file, index=False)
    return schema
