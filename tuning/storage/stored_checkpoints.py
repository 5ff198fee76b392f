"""Checkpoints of a trial as objects: a checkpoint without its `state.json` is none, as that is put last and removed first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from common.json_values import checked, parsed

if TYPE_CHECKING:
    from common.storage.objects import Objects, Stamp

STATE = "state.json"


class StoredCheckpoints:
    """What a driver knows and removes of a trial's checkpoints; only the trial's own process fetches them.

    Args:
        objects: of the experiment.
        number: of the trial.
    """

    def __init__(self, objects: Objects, number: int) -> None:
        self._objects, self._folder = objects, f"trials/{number:05d}/"

    @property
    def steps(self) -> int:
        """Steps of the newest one; 0 without one."""
        return max((int(name) for name in complete(self._listed())), default=0)

    @property
    def nbytes(self) -> int:
        """Their size, bytes."""
        return sum(stamp.nbytes for stamp in self._listed().values())

    def keep_one(self) -> None:
        """Remove all before the newest, and what it does not need; nothing where the newest is not whole."""
        stamps = self._listed()
        names = complete(stamps)
        if not names:
            return
        try:
            files = named_files(self._objects.read(f"{self._folder}{names[-1]}/{STATE}"))
        except ValueError:
            return
        needed = {name if "/" in name else f"{names[-1]}/{name}": nbytes for name, nbytes in files.items()}
        if any(name not in stamps or stamps[name].nbytes != nbytes for name, nbytes in needed.items()):
            return
        self._remove(stamps.keys() - needed.keys() - {f"{names[-1]}/{STATE}"})

    def remove(self) -> None:
        """Remove all of them."""
        self._remove(self._listed())

    def _listed(self) -> dict[str, Stamp]:
        """Stamps by names below the trial's folder."""
        return {key.removeprefix(self._folder): stamp for key, stamp in self._objects.listed(self._folder).items()}

    def _remove(self, names: Iterable[str]) -> None:
        remove_states_first(self._objects, [self._folder + name for name in names])


class Removing(Protocol):
    """Objects that can be removed."""

    def remove(self, keys: Iterable[str]) -> None:
        """Remove objects."""


def remove_states_first(objects: Removing, keys: Iterable[str]) -> None:
    """Remove objects of checkpoints, so that whatever a kill leaves is a checkpoint or none."""
    given = sorted(keys)
    objects.remove([key for key in given if key.endswith(f"/{STATE}")])
    objects.remove([key for key in given if not key.endswith(f"/{STATE}")])


def complete(names: Iterable[str]) -> list[str]:
    """Names of the checkpoints that were put to their end, oldest first, among names below a trial's folder."""
    parts = (name.partition("/") for name in names)
    return sorted(folder for folder, _, name in parts if name == STATE and folder.isascii() and folder.isdecimal())


def named_files(state: bytes) -> dict[str, int]:
    """Names and sizes of the files that a checkpoint's state names.

    Raises:
        ValueError: if it is damaged.
    """
    content = checked(parsed(state.decode()), dict[str, Any], "its content")
    inner = checked(content.get("content"), dict[str, Any], "content")
    files = checked(inner.get("files"), dict[str, dict[str, Any]], "files")
    return {name: checked(values.get("bytes"), int, "bytes") for name, values in files.items()}
