"""Compiles what steps a site, once after an installation: while a command is still being imported, and in one process alone.

Numba takes most of half a minute for it and keeps the result. The types of what it is called with are the same for every site.
"""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np

_KEPT = "kernel.step-*.nbi"  # Numba's index of what it has compiled of `kernel.step`


def ahead() -> None:
    """Begin to compile in a process of its own, where nothing seems to be compiled yet."""
    if not any((Path(__file__).parent / "__pycache__").glob(_KEPT)):
        nothing = subprocess.DEVNULL
        subprocess.Popen(
            [sys.executable, "-m", __name__], cwd=Path(__file__).parents[2], stdin=nothing, stdout=nothing, stderr=nothing
        )


@cache
def ready() -> None:
    """Compile what steps a site, or wait for the process that does and load it."""
    from filelock import FileLock

    from envs.batch_backend import kernel

    folder = Path(str(kernel.step.stats.cache_path))
    if any(folder.glob(_KEPT)):
        return  # it is loaded with the first step
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "compiling.lock"):
        call_for_nothing()


def call_for_nothing() -> None:
    """Begin and step no copy of a site without buildings, with arrays of the types that all sites have."""
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
