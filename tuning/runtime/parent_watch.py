"""Worker processes that do not outlive what started them."""

from __future__ import annotations

import os
import threading
import time
from functools import cache

import psutil

LOOK_SECONDS = 1.0


@cache
def end_with_parent() -> None:
    """End this process when its parent ends; once for all.

    Ray's workers notice that their node is gone only between two tasks, and a task may train for hours, with nobody to
    hear of it and on a card that the next run wants.
    """
    parent = psutil.Process().parent()

    def watch() -> None:
        # A parent that is gone is another one from then on.
        while parent is not None and parent.is_running() and parent.status() != psutil.STATUS_ZOMBIE:
            time.sleep(LOOK_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="end with parent", daemon=True).start()
