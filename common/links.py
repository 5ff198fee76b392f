"""Refuses folders that lead elsewhere: what is written or removed in them would be another person's choice."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from common.errors import UserError

_REPARSE_POINT = 0x400  # attribute of Windows' links and junctions


class LinkError(UserError):
    """A folder holds a link, or something that is neither file nor folder; says which and what to do."""


def refuse_links(folder: Path) -> None:
    """See that a folder and all folders in it hold files and folders alone; the folder itself may be reached by a link.

    Args:
        folder: of an experiment or a judgement; it need not be there.

    Raises:
        LinkError: by the first other entry.
    """
    for parent, folders, files in os.walk(folder):
        for name in sorted(folders) + sorted(files):
            path = Path(parent, name)
            try:
                found = path.lstat()
            except FileNotFoundError:
                continue  # a run that goes on removed it
            if stat.S_ISLNK(found.st_mode) or getattr(found, "st_file_attributes", 0) & _REPARSE_POINT:
                raise LinkError(f"{path} is a link, which may lead elsewhere: put the files themselves there, or remove it")
            if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
                raise LinkError(f"{path} is neither a file nor a folder: remove it")
