"""What a trial asks of the machine, and how many run at once."""

from __future__ import annotations

import math
from collections.abc import Mapping

# Host memory of a trial's process: CityLearn with 128 sockets, RLlib and torch on the CPU, rounded up.
TRIAL_MEMORY_BYTES = 2 * 2**30
SHARES = 10_000  # Ray counts shares of a GPU in ten-thousandths


def default_concurrency(resources: Mapping[str, float]) -> int:
    """Trials that can run at once, one core and `TRIAL_MEMORY_BYTES` each.

    Args:
        resources: of Ray's cluster: `CPU` in cores, `memory` in bytes.
    """
    return max(1, min(int(resources.get("CPU", 1)), int(resources.get("memory", 0) // TRIAL_MEMORY_BYTES)))


def gpu_share(gpus: int, concurrency: int) -> float:
    """Share of a GPU that a trial asks Ray for, so that all that run at once find room; 0 without a GPU.

    Args:
        gpus: GPUs that Ray has.
        concurrency: trials that run at once.
    """
    if not gpus:
        return 0.0
    # Rounded down: ten trials with a tenth each, rounded up, are more than a card.
    return math.floor(SHARES / math.ceil(concurrency / gpus)) / SHARES
