"""What a trial asks of the machine, and how many run at once."""

from __future__ import annotations

import os

import psutil

# Host memory of a trial's process: measured with CityLearn, torch on the CPU and 128 sockets, rounded up.
TRIAL_MEMORY_BYTES = 2 * 2**30


def default_concurrency() -> int:
    """Trials that this machine can run at once: one core and `TRIAL_MEMORY_BYTES` each."""
    cores = os.cpu_count() or 1
    return max(1, min(cores, int(psutil.virtual_memory().available // TRIAL_MEMORY_BYTES)))


def gpu_share(gpus: float, concurrency: int) -> float:
    """Share of a GPU that a trial asks Ray for: what the card gives to each of the trials that run at once.

    Args:
        gpus: GPUs that Ray has.
        concurrency: trials that run at once.
    """
    return min(1.0, gpus / concurrency)
