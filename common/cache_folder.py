"""Where this machine keeps what can be made or fetched again."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

FOLDER_VARIABLE = "BUILDING_TUNER_CACHE"


def cache_folder() -> Path:
    """Folder of the cache: the environment variable BUILDING_TUNER_CACHE, else the system's place for caches."""
    return Path(os.environ.get(FOLDER_VARIABLE) or platformdirs.user_cache_dir("building-tuner", appauthor=False))
