"""A folder in storage, as a search leaves it there."""

from pathlib import Path

from common.storage.location import location
from common.storage.objects import Objects


def upload(folder: Path, uri: str) -> Objects:
    """Put all files of a folder into storage; the objects."""
    objects = Objects(location(uri), patience=10)
    objects.put_all((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*") if path.is_file())
    return objects
