"""Checks of a scenario's `schema.json` and of the files that it names, before CityLearn opens them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.files import read_text
from envs.errors import ScenarioError
from envs.scenarios.references import named_files, root_of
from envs.scenarios.series_files import check_series
from envs.scenarios.sizing_tables import check_sizing, sizing_tables
from envs.scenarios.tariff import FILE_NAME, DemandCharge

_FIRST, _LAST = "simulation_start_time_step", "simulation_end_time_step"


def count_steps(path: Path) -> int:
    """Steps of a scenario year: one less than its rows, as in CityLearn."""
    schema = read_schema(path)
    return int(schema[_LAST]) - int(schema[_FIRST])


def rooted(path: Path) -> dict[str, Any]:
    """Content of a `schema.json` with the absolute folder of its series, which CityLearn reads wherever it runs."""
    schema = read_schema(path)
    folder = path.absolute().parent
    configured = schema.get("root_directory")
    return {**schema, "root_directory": str(folder if configured is None else (folder / configured).resolve())}


def active_actions(path: Path) -> list[str]:
    """Kinds of actions that a schema activates, as it names them."""
    return [name for name, action in read_schema(path).get("actions", {}).items() if action.get("active")]


def check(path: Path) -> None:
    """Check a scenario without CityLearn.

    Raises:
        ScenarioError: for a file that is no schema, steps other than hours, a missing series, or power outages at random.
            Also for a tariff file that cannot be read, and for the faults that `envs.scenarios.series_files` finds.
    """
    schema = read_schema(path)
    seconds = schema.get("seconds_per_time_step", 3600)
    if seconds != 3600:
        raise ScenarioError(f"{path}: steps of {seconds} s; only hourly scenarios are supported")
    missing = sorted({name for name in _named(schema) if not _is_file(_root(path, schema) / name)})
    if missing:
        raise ScenarioError(f"{path} names {missing[0]}, which is not in {_root(path, schema)}")
    check_sizing(path, schema)
    for name, building in schema["buildings"].items():
        outage = building.get("power_outage") or {}
        if building.get("include", True) and outage.get("simulate_power_outage") and outage.get("stochastic_power_outage"):
            # CityLearn draws them anew for each episode, and only for whole days.
            raise ScenarioError(
                f"{path}: building {name} draws its power outages, so runs cannot be compared with one another: set "
                "stochastic_power_outage to false and give the hours as the column power_outage of its energy_simulation"
            )
    DemandCharge.of(path)
    check_series(path, schema, _root(path, schema))


def digest(path: Path, code: Sequence[Path] = ()) -> str:
    """Hash of a scenario's files, so that a change of them changes the key in the cache.

    Args:
        path: of the `schema.json`.
        code: files with code of the scenario's own classes.
    """
    schema = read_schema(path)
    named = (_root(path, schema) / name for name in sorted(set(_named(schema))))
    hashed = hashlib.sha256()
    for file in (path, path.parent / FILE_NAME, *named, *sizing_tables(schema), *code):
        if file.is_file():
            hashed.update(file.name.encode())
            hashed.update(file.read_bytes())
    return hashed.hexdigest()[:12]


def read_schema(path: Path) -> dict[str, Any]:
    """Content of a `schema.json`.

    Raises:
        ScenarioError: if the file is not JSON, or no schema.
    """
    try:
        schema = json.loads(read_text(path))
    except ValueError as error:
        raise ScenarioError(f"{path} is not JSON: {error}") from error
    if not isinstance(schema, dict) or not isinstance(schema.get("buildings"), dict):
        raise ScenarioError(f"{path} is not a CityLearn schema: it lacks buildings")
    for name in (_FIRST, _LAST):
        if not isinstance(schema.get(name), int):
            raise ScenarioError(f"{path}: {name} has to be a whole number, the first or last row to be run")
    return schema


def _root(path: Path, schema: dict[str, Any]) -> Path:
    """Folder of the series, relative to that of the schema, as in CityLearn."""
    return root_of(path, schema)


def _named(schema: dict[str, Any]) -> list[str]:
    """Files that CityLearn opens."""
    return [file.relative for file in named_files(schema) if file.opened]


def _is_file(path: Path) -> bool:
    """Whether a file is there; a name that no file can have is that of none."""
    try:
        return path.is_file()
    except (OSError, ValueError, RuntimeError):
        return False
