"""Checks of a scenario's `schema.json` and of the files that it names, before CityLearn opens them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from envs.errors import ScenarioError
from envs.scenarios.faults import Faults
from envs.scenarios.json_file import read_object
from envs.scenarios.references import named_files, root_of
from envs.scenarios.schema_relations import schema_faults
from envs.scenarios.schema_shape import FIRST, LAST
from envs.scenarios.series_files import check_series
from envs.scenarios.shapes import is_left_out
from envs.scenarios.sizing_tables import check_sizing, sizing_tables
from envs.scenarios.tariff import FILE_NAME, tariff_faults


def count_steps(path: Path) -> int:
    """Steps of a scenario year: one less than its rows, as in CityLearn."""
    schema = read_schema(path)
    return int(schema[LAST]) - int(schema[FIRST])


def rooted(path: Path) -> dict[str, Any]:
    """Content of a `schema.json` with the absolute folder of its series, which CityLearn reads wherever it runs."""
    schema = read_schema(path)
    folder = path.absolute().parent
    configured = schema.get("root_directory")
    # CityLearn needs the length of a step, which is the same in every scenario here.
    seconds = schema.get("seconds_per_time_step") or 3600
    return {
        **schema,
        "seconds_per_time_step": seconds,
        "root_directory": str(folder if configured is None else (folder / configured).resolve()),
    }


def active_actions(path: Path) -> list[str]:
    """Kinds of actions that a schema activates, as it names them."""
    return [name for name, action in read_schema(path).get("actions", {}).items() if action.get("active")]


def count_buildings(path: Path) -> int:
    """Number of buildings that a schema includes."""
    return sum(not is_left_out(building) for building in read_schema(path)["buildings"].values())


def check(path: Path) -> None:
    """Check a scenario without CityLearn.

    Raises:
        ScenarioError: one line for each fault: of the schema's form and numbers, of a series that is missing, of power outages
            at random, of the tariff, and what `envs.scenarios.series_files` finds.
    """
    schema = read_schema(path)
    faults = Faults()
    found = schema_faults(schema)
    for fault in found:
        faults.add(f"{path}: {fault}")
    for line in tariff_faults(path):
        faults.add(line)
    # The files can be told only from a schema of the right form.
    if not any(fault.form for fault in found):
        _check_files(path, schema, faults)
    faults.refuse()


def _check_files(path: Path, schema: dict[str, Any], faults: Faults) -> None:
    """Check that the files are there, and what they hold."""
    root = root_of(path, schema)
    missing = sorted({name for name in _named(schema) if not _is_file(root / name)})
    for name in missing:
        faults.add(f"{path} names {name}, which is not in {root}")
    try:
        check_sizing(path, schema)
    except ScenarioError as error:
        faults.add(str(error))
    for name, building in schema["buildings"].items():
        outage = building.get("power_outage") or {}
        if not is_left_out(building) and outage.get("simulate_power_outage") and outage.get("stochastic_power_outage"):
            # CityLearn draws them anew for each episode, and only for whole days.
            faults.add(
                f"{path}: building {name} draws its power outages, so runs cannot be compared with one another: set "
                "stochastic_power_outage to false and give the hours as the column power_outage of its energy_simulation"
            )
    if not missing:
        check_series(path, schema, root, faults)


def digest(path: Path, code: Sequence[Path] = ()) -> str:
    """Hash of a scenario's files, so that a change of them changes the key in the cache.

    Args:
        path: of the `schema.json`.
        code: files with code of the scenario's own classes.
    """
    schema = read_schema(path)
    named = (root_of(path, schema) / name for name in sorted(set(_named(schema))))
    hashed = hashlib.sha256()
    for file in (path, path.parent / FILE_NAME, *named, *sizing_tables(schema), *code):
        if file.is_file():
            hashed.update(file.name.encode())
            with file.open("rb") as opened:
                while piece := opened.read(2**20):
                    hashed.update(piece)
    return hashed.hexdigest()[:12]


def read_schema(path: Path) -> dict[str, Any]:
    """Content of a `schema.json`, of which only `check` looks at the form.

    Raises:
        ScenarioError: if the file is not JSON, or no schema.
    """
    schema = read_object(path)
    if not isinstance(schema.get("buildings"), dict):
        raise ScenarioError(f"{path} is not a CityLearn schema: it lacks an object buildings; name a schema.json")
    return schema


def _named(schema: dict[str, Any]) -> list[str]:
    """Files that CityLearn opens."""
    return [file.relative for file in named_files(schema) if file.opened]


def _is_file(path: Path) -> bool:
    """Whether a file is there; a name that no file can have is that of none."""
    try:
        return path.is_file()
    except (OSError, ValueError, RuntimeError):
        return False
