"""Compiles what steps a site, once after an installation: while a command is still being imported, and in one process alone.

Numba takes most of half a minute for it and keeps the result. The types of what it is called with are the same for every site.
"""

import os
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

# Numba's index of what it has compiled of `kernel.step` for this Python.
_KEPT = f"kernel.step-*.py{sys.version_info.major}{sys.version_info.minor}*.nbi"


def ahead() -> None:
    """Begin to compile in a process of its own, where nothing is compiled yet; it ends by itself.

    Only what lies beside the code is looked at, so nothing begins where Numba keeps its work elsewhere.
    """
    folder, nothing = Path(__file__).parent / "__pycache__", subprocess.DEVNULL
    if "NUMBA_CACHE_DIR" in os.environ or not os.access(folder.parent, os.W_OK) or _is_compiled(folder):
        return
    with suppress(OSError):  # each process that needs it compiles
        subprocess.Popen(
            [sys.executable, "-m", __name__], cwd=Path(__file__).parents[2], stdin=nothing, stdout=nothing, stderr=nothing
        )


@cache
def ready() -> None:
    """Compile what steps a site, or wait for the process that does and load it."""
    from filelock import FileLock

    from envs.batch_backend import kernel

    if not hasattr(kernel.step, "stats"):
        return  # NUMBA_DISABLE_JIT is set
    folder = Path(str(kernel.step.stats.cache_path))
    if _is_compiled(folder):
        return  # it is loaded with the first step
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "compiling.lock"):
        call_for_nothing()
        # Numba compares contents. Of a file that was only written again it compiles nothing, and leaves its index old.
        for index in folder.glob(_KEPT):
            index.touch()


def _is_compiled(folder: Path) -> bool:
    """Whether Numba's folder has what is newer than the code; older versions stay there."""
    written = Path(__file__).with_name("kernel.py").stat().st_mtime
    return any(index.stat().st_mtime >= written for index in folder.glob(_KEPT))


def call_for_nothing() -> None:
    """Begin and step no copy of a site without buildings, with arrays of the types that all sites have."""
    import numpy as np

    from envs.batch_backend import kernel, records
    from envs.batch_backend.tables import allocate

    shapes = {"thermal": (0, 3), "battery_curve": (0, 2, 2, 1), "charger_curve": (0, 2, 2, 1), "reward": (1,), "hour": (1,)}
    shapes |= dict.fromkeys(("meter", "template", "event"), (0, 0))
    kinds = dict.fromkeys(("template", "held_soc"), np.float32)

    def empty(fields: tuple[str, ...]) -> list[np.ndarray]:
        # An array of records has the name of its record.
        return [np.zeros(shapes.get(name, 0), kinds.get(name) or vars(records).get(name.upper())) for name in fields]

    site, rows = records.Site(*empty(records.Site._fields)), records.Rows(*empty(records.Rows._fields))
    state, out = allocate(site, rows, 1, 0)
    nobody = np.zeros(0, np.int64)
    kernel.begin(site, rows, state, out, nobody, nobody, np.zeros((0, 0)), np.zeros((0, 3)))
    kernel.step(site, rows, state, out, np.zeros((1, 0)), nobody)


if __name__ == "__main__":
    ready()
