"""Worker processes that end with the process that started them."""

from __future__ import annotations

import os
import threading
import time
from functools import cache
from pathlib import Path

import psutil

LOOK_SECONDS = 1.0  # between two checks


def _is_uv(process: psutil.Process) -> bool:
    try:
        return Path(process.name()).stem == "uv"
    except psutil.NoSuchProcess:
        return True  # it has ended: the one above it is watched
    except psutil.Error:
        return False  # one of another user


def _has_ended(process: psutil.Process) -> bool:
    try:
        # A killed process stays as a zombie until its own parent waits for it.
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True  # it ended between the two questions
    except psutil.AccessDenied:
        return False  # one of another user, which runs


@cache
def end_with_parent() -> None:
    """End this process when its parent ends. Later calls do nothing.

    Ray's workers notice only between two tasks that their node is gone. A task may train for hours, on a card that the next
    run needs. `uv run` between this process and its node's does not end with the node.
    """
    parent = next((process for process in psutil.Process().parents() if not _is_uv(process)), None)

    def watch() -> None:
        # After its end the system gives this process another parent.
        while parent is not None and not _has_ended(parent):
            time.sleep(LOOK_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="end with parent", daemon=True).start()
