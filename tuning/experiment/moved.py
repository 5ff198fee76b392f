"""The file that says where a local experiment has gone: it goes on in a storage, and its folder is only read."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from common.errors import UsageError
from common.files import sync_folder, write_whole
from common.json_values import described, read_json
from common.storage.location import Location
from tuning.experiment.folder import ExperimentPaths

TOKEN = "moved.token"  # key of the object that says which move filled the place


@dataclass(frozen=True)
class Move:
    """Where an experiment goes.

    Attributes:
        uri: its place in the storage.
        token: that its copy there holds too, so that another experiment is not taken for it.
        is_over: whether it is there. If not, the command that moved it was killed at its last step, and it may be there.
    """

    uri: str
    token: str
    is_over: bool = False

    @property
    def place(self) -> Location:
        """Its place in the storage, as it was written: another person's folder may name any."""
        return Location(self.uri)


def move_of(paths: ExperimentPaths) -> Move | None:
    """Where an experiment has gone, or may have gone; None if it stays in its folder.

    Raises:
        UsageError: if the file that says it cannot be read.
    """
    if not paths.moved.exists():
        return None
    try:
        return described(Move, read_json(paths.moved), "its content")
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{paths.moved} is damaged ({error}): restore it from a copy, or delete it if this experiment was not moved"
        ) from error


def note_move(paths: ExperimentPaths, move: Move) -> None:
    """Write where an experiment goes."""
    write_whole(paths.moved, lambda file: file.write(json.dumps(asdict(move), indent=1).encode()))
    sync_folder(paths.folder)


def refuse_moved(paths: ExperimentPaths) -> None:
    """See that an experiment goes on in its folder.

    Raises:
        UsageError: if it has gone to a storage, or may have; or if the folder is a copy of what is there.
    """
    move = move_of(paths)
    if move is None:
        if (paths.folder / TOKEN).exists():
            raise UsageError(
                f"{paths.folder} is a copy of an experiment that has moved to a storage, as it holds {TOKEN}: continue it "
                f"there, with --resume and its URI"
            )
        return
    if move.is_over:
        raise UsageError(f"{paths.folder} has moved to {move.place}: continue it there, with --resume {move.place}")
    raise UsageError(
        f"{paths.folder} may have moved to {move.place}, as the command that moved it was killed: repeat it, with --resume "
        f"{paths.folder} --storage {move.place.parent}"
    )
