"""The function by which Ray Tune runs a trial in a process of its own."""

from __future__ import annotations

import errno
import traceback
from collections.abc import Callable
from typing import Any

from common.cache_folder import cache_folder
from common.storage.location import StorageError
from tuning.memory.planner import FALLBACKS
from tuning.runtime.parent_watch import end_with_parent
from tuning.storage.trial_files import FencedError, TrialFiles, trial_files
from tuning.trial.device import Device
from tuning.trial.monitor import Monitor
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
    STORAGE_LOST,
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
    number = config[NUMBER]
    try:
        with trial_files(config, number, config[RUN], config[EXPERIMENT], config.get(TRUSTED, False)) as files:
            # It is reported, not raised: then Tune takes it for the normal end of a trial.
            ended = _trained(config, files, tune.report)
    except FencedError:
        ended = {OUTCOME: STOPPED}
    except StorageError as error:
        # Not a failure of the trial: a later run continues it from its last checkpoint.
        ended = {OUTCOME: STORAGE_LOST, MESSAGE: str(error)}
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        # What a trial goes on from does not fit here. It is no loss of its process, which would be tried again at once.
        ended = {OUTCOME: DISK_FULL, MESSAGE: f"the disk of {cache_folder()} is full: free some of it"}
    if ended:
        tune.report(ended)


def _trained(config: dict[str, Any], files: TrialFiles, report: Callable[[dict[str, Any]], None]) -> dict[str, Any] | None:
    """Train a trial to its end, or until it has to stop; what to report at last, if anything."""
    experiment, running, number = files.experiment, files.permission, config[NUMBER]
    records = TrialRecords(experiment, files.written)
    try:
        with files.held(number):
            if not running.exists():
                return {OUTCOME: STOPPED}
            device = Device.take_granted(config[VRAM_LIMIT])
            marker, fallback = experiment.paths.memory_marker(number), FALLBACKS[config[FALLBACK]]
            with (
                Monitor(config[RAM_LIMIT], marker, device.card, end=files.end_process) as monitor,
                Training.begin(
                    experiment, records, number, config[HYPERPARAMETERS], running, device, monitor, fallback, files
                ) as trial,
            ):
                for update in trial.updates():
                    report(update)
        return None
    except (FencedError, StorageError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            # Not a failure of the trial: a later run continues it from its last checkpoint.
            return {OUTCOME: DISK_FULL, MESSAGE: f"the disk of {experiment.paths.folder} is full: free some of it"}
        if not is_out_of_memory(error):
            records.count_crash(number, traceback.format_exc())
            raise
        records.count_out_of_memory(number, traceback.format_exc())
    # Outside the handler, where the error and the objects in its frames are gone.
    free_memory()
    return {OUTCOME: OUT_OF_MEMORY}


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
