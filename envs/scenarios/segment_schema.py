"""The `schema.json` of a segment: the scenario's own with other rows and buildings. Its series stay where they are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from common.files import read_text
from envs.cache import cache_folder
from envs.scenarios.schema_file import rooted
from envs.scenarios.schema_shape import FIRST, LAST
from envs.scenarios.segments import Segment
from envs.scenarios.tariff import FILE_NAME

_ORIGIN = "origin.json"  # beside the schema: from which one it was made


def write_segment(path: Path, segment: Segment, folder: Path) -> None:
    """Write the schema of a segment, and the tariff, into an empty folder of the cache.

    Rows before and after are not in it, and buildings of other splits have `include` false. So CityLearn reads neither.

    Args:
        path: of the scenario's `schema.json`.
        segment: of the scenario.
        folder: in the cache.
    """
    schema = rooted(path)
    first = int(schema[FIRST]) + segment.first
    buildings = {name: {**own, "include": name in segment.buildings} for name, own in schema["buildings"].items()}
    schema |= {FIRST: first - segment.history, LAST: first + segment.rows - 1, "buildings": buildings}
    # Both count from the first row of the data, and no row is that here.
    schema |= {"start_date": None, "episode_time_steps": None}
    (folder / "schema.json").write_text(json.dumps(schema, indent=1), encoding="utf-8")
    (folder / _ORIGIN).write_text(json.dumps({"schema": str(path)}), encoding="utf-8")
    if (path.parent / FILE_NAME).exists():
        shutil.copyfile(path.parent / FILE_NAME, folder / FILE_NAME)


def origin(path: Path) -> Path:
    """The `schema.json` of which folder and files a schema may name others: its own, but for one of `write_segment`.

    Only the cache says so, because a folder from elsewhere would name any other one.

    Args:
        path: of a `schema.json`.
    """
    beside = path.parent / _ORIGIN
    if not path.resolve().is_relative_to(cache_folder().resolve()) or not beside.is_file():
        return path
    return Path(json.loads(read_text(beside))["schema"])
