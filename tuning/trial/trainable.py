"""The function by which Ray Tune runs a trial in a process of its own."""

from __future__ import annotations

import errno
import traceback
from typing import Any

from tuning.experiment.folder import open_experiment
from tuning.experiment.lock import trial_lock
from tuning.memory.fallbacks import FALLBACKS
from tuning.runtime.parent_watch import end_with_parent
from tuning.trial.device import Device
from tuning.trial.monitor import Monitor
from tuning.trial.permission import Permission
from tuning.trial.protocol import (
    DISK_FULL,
    EXPERIMENT,
    FALLBACK,
    HYPERPARAMETERS,
    MESSAGE,
    NUMBER,
    OUT_OF_MEMORY,
    OUTCOME,
    RAM_LIMIT,
    RUN,
    STOPPED,
    TRUSTED,
    VRAM_LIMIT,
)
from tuning.trial.records import TrialRecords
from tuning.trial.training import Training


def run_trial(config: dict[str, Any]) -> None:
    """Function trainable of Ray Tune.

    Args:
        config: see `tuning.trial.protocol`: number, hyperparameters, folder of the experiment, name of the run, trust, memory
            limits. Everything else is in the folder.
    """
    from ray import tune

    end_with_parent()
    experiment = open_experiment(config[EXPERIMENT]).trusting(config.get(TRUSTED, False))
    records = TrialRecords(experiment)
    number, run = config[NUMBER], config[RUN]
    # Training needs no more of a path than this.
    running: Any = Permission(experiment.paths.running(run), experiment.paths.leaving(run, number))
    try:
        with trial_lock(experiment.paths.trial_lock(number)):
            if not running.exists():
                tune.report({OUTCOME: STOPPED})
                return
            device = Device.take_granted(config[VRAM_LIMIT])
            with (
                Monitor(config[RAM_LIMIT], experiment.paths.memory_marker(number), device.card) as monitor,
                Training.begin(
                    experiment, records, number, config[HYPERPARAMETERS], running, device, monitor, FALLBACKS[config[FALLBACK]]
                ) as trial,
            ):
                for report in trial.updates():
                    tune.report(report)
        return
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            # Not a failure of the trial: a later run continues it from its last checkpoint.
            tune.report({OUTCOME: DISK_FULL, MESSAGE: f"the disk of {experiment.paths.folder} is full: free some of it"})
            return
        if not is_out_of_memory(error):
            records.count_crash(number, traceback.format_exc())
            raise
        records.count_out_of_memory(number, traceback.format_exc())
    # Outside the handler, where the error and the objects in its frames are gone. It is reported, not raised: then Tune takes
    # it for the normal end of a trial.
    free_memory()
    tune.report({OUTCOME: OUT_OF_MEMORY})


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error means that memory of the card or of the host ran out."""
    import torch

    # Torch has no class of its own for errors of host memory.
    of_the_host = isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or of_the_host


def free_memory() -> None:
    """Free the memory of a trial that ended by an error, so that its process can train another."""
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
