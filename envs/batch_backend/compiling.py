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
        # Numba goes by what the code says. Of a file that was only written again it has found what it kept.
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

    zeros = np.zeros
    site = records.Site(
        action=zeros(0, records.ACTION),
        building=zeros(0, records.BUILDING),
        thermal=zeros((0, 3), records.THERMAL),
        battery=zeros(0, records.BATTERY),
        battery_curve=zeros((0, 2, 2, 1)),
        charger=zeros(0, records.CHARGER),
        charger_curve=zeros((0, 2, 2, 1)),
        observed=zeros(0, records.OBSERVED),
        reward=zeros(1, records.REWARD),
        appliance=zeros(0, records.APPLIANCE),
        cycle=zeros(0, records.CYCLE),
    )
    rows = records.Rows(
        hour=zeros(1, records.HOUR),
        meter=zeros((0, 0), records.METER),
        template=zeros((0, 0), np.float32),
        plugged=zeros(0, records.PLUGGED),
        session=zeros(0, records.SESSION),
        held_soc=zeros(0, np.float32),
        event=zeros((0, 0), records.EVENT),
    )
    state, out = allocate(site, rows, 1, 0)
    none = zeros(0, np.int64)
    kernel.begin(site, rows, state, out, none, none, zeros((0, 0)), zeros((0, 3)))
    kernel.step(site, rows, state, out, zeros((1, 0)), none)


if __name__ == "__main__":
    ready()
