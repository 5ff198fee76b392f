"""The `schema.json` of a segment: the scenario's own with other rows and buildings. Its series stay where they are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from envs.cache import cached_folder
from envs.scenarios.schema_file import rooted
from envs.scenarios.schema_shape import FIRST, LAST
from envs.scenarios.segments import Segment
from envs.scenarios.tariff import FILE_NAME

# By the schema of a segment that this process opened, the one that it was made from. It is in no file, because a folder from
# elsewhere would then name any other folder as its own.
_ORIGINS: dict[Path, Path] = {}


def segment_schema(path: Path, segment: Segment, key: str) -> Path:
    """Path of a segment's schema in the cache, written the first time.

    Rows before and after are not in it, and buildings of other splits have `include` false. So CityLearn reads neither.

    Args:
        path: of the scenario's `schema.json`, which was checked.
        segment: of the scenario.
        key: of the folder in the cache.
    """
    made = cached_folder(key, lambda folder: _write(path, segment, folder)) / "schema.json"
    _ORIGINS[made] = path
    return made


def origin(path: Path) -> Path:
    """The `schema.json` that decides which files a schema may name: that of the scenario for a segment's, else itself."""
    return _ORIGINS.get(path, path)


def _write(path: Path, segment: Segment, folder: Path) -> None:
    schema = rooted(path)
    first = int(schema[FIRST]) + segment.first
    buildings = {name: {**own, "include": name in segment.buildings} for name, own in schema["buildings"].items()}
    schema |= {FIRST: first - segment.history, LAST: first + segment.rows - 1, "buildings": buildings}
    # Both count from the first row of the data, which is another one here.
    schema |= {"start_date": None, "episode_time_steps": None}
    (folder / "schema.json").write_text(json.dumps(schema, indent=1), encoding="utf-8")
    if (path.parent / FILE_NAME).exists():
        shutil.copyfile(path.parent / FILE_NAME, folder / FILE_NAME)
