"""Tables from which CityLearn sizes PV and batteries itself; it downloads those that this machine lacks, unless told not to.

The places are those of `citylearn.data.DataSet`, which this module does not import: that takes seconds.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import platformdirs

from envs.errors import ScenarioError
from envs.scenarios.references import autosized

TABLES = {"pv": "lbl-tracking_the_sun-res-pv.csv", "electrical_storage": "battery_choices.yaml"}
_GETTERS = {"pv": "get_pv_sizing_data", "electrical_storage": "get_battery_sizing_data"}


def check_sizing(path: Path, schema: Mapping[str, Any]) -> None:
    """Check that what CityLearn sizes devices with is on this machine.

    Args:
        path: of the `schema.json`.
        schema: its content.

    Raises:
        ScenarioError: if a table or a package is missing.
    """
    for device, name in TABLES.items():
        places = autosized(schema, device)
        if places and device == "pv" and importlib.util.find_spec("PySAM") is None:
            raise ScenarioError(
                f"{path}: {places[0]}.autosize needs the package NREL-PySAM, which is not installed: install it, or set "
                "autosize to false and give nominal_power"
            )
        if places and not _path(name):
            raise ScenarioError(
                f"{path}: {places[0]}.autosize needs CityLearn's table {name}, which is not in {_cache()}: download it by "
                f'python -c "from citylearn.data import DataSet; DataSet().{_GETTERS[device]}()", or set autosize to false'
            )


def sizing_tables(schema: Mapping[str, Any]) -> list[Path]:
    """Tables that a scenario is sized with, and that are on this machine."""
    found = [_path(name) for device, name in TABLES.items() if autosized(schema, device)]
    return [path for path in found if path]


def _path(name: str) -> Path | None:
    """The copy of a table that CityLearn takes; None where it would download one."""
    return next((folder / name for folder in (_cache(), *_local()) if (folder / name).is_file()), None)


def _cache() -> Path:
    repository = os.environ.get("CITYLEARN_DATASET_REPOSITORY", "CityLearn").lower()
    account = os.environ.get("CITYLEARN_DATASET_GITHUB_ACCOUNT", "citylearn-project")
    tag = os.environ.get("CITYLEARN_DATASET_TAG", f"v{importlib.metadata.version('citylearn')}")
    return Path(platformdirs.user_cache_dir(appname=repository, appauthor=account, version=tag)) / "misc"


def _local() -> Iterator[Path]:
    """Folders from which CityLearn copies a table that its cache lacks."""
    named = os.environ.get("CITYLEARN_LOCAL_MISC_PATH", "").split(os.pathsep)
    yield from (Path(folder).expanduser() for folder in named if folder.strip())
    spec = importlib.util.find_spec("citylearn")
    if spec and spec.origin:
        yield Path(spec.origin).parents[1] / "data" / "misc"
    yield Path.cwd() / "data" / "misc"
