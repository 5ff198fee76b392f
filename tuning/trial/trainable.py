"""The function by which Ray Tune runs a trial in a process of its own."""

import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from common.files import is_full, told_full
from common.paths import cache_folder
from common.storage.location import StorageError
from tuning.runtime.processes import end_with_parent
from tuning.storage.trial_files import FencedError, TrialFiles, trial_files
from tuning.trial.device import Device
from tuning.trial.monitor import Monitor
from tuning.trial.protocol import Ending, Handout, Report, handout_in
from tuning.trial.training import Training


def run_trial(config: dict[str, Any]) -> None:
    """Function trainable of Ray Tune. What its configuration does not say is in the folder of the experiment."""
    from ray import tune

    end_with_parent()
    handout = handout_in(config)

    last = Report()

    def tell(report: Report) -> None:
        nonlocal last
        last = report
        tune.report(report.for_tune())

    try:
        with trial_files(handout.home, handout.number) as files:
            # It is reported, not raised: then Tune takes it for the normal end of a trial.
            ended = _trained(handout, files, tell)
    except FencedError:
        ended = Report(ending=Ending.STOPPED)
    except StorageError as error:
        # Not a failure of the trial: a later run continues it from its last checkpoint.
        ended = Report(ending=Ending.STORAGE_LOST, message=str(error))
    except Exception as error:
        # It is no loss of its process, which would be tried again at once.
        if not is_full(error):
            if last.ending is not Ending.CRASHED:
                tell(Report(ending=Ending.CRASHED, message=traceback.format_exc()))
            raise
        # Not a failure of the trial either.
        folder = cache_folder() if handout.home.storage else handout.home.experiment
        ended = Report(ending=Ending.DISK_FULL, message=told_full(folder, error))
    if ended:
        tell(ended)


def _trained(handout: Handout, files: TrialFiles, tell: Callable[[Report], None]) -> Report | None:
    experiment = files.experiment
    untold = Report()
    try:
        if not files.may_go_on():
            return Report(ending=Ending.STOPPED)
        granted = handout.place.grant
        device = Device.take_granted(granted.vram_bytes, granted.context_bytes)
        marker = experiment.paths.memory_marker(handout.number)
        with (
            Monitor(granted.ram_bytes, marker, device.card, end=files.end_process) as monitor,
            Training(experiment, handout, files.may_go_on, device, monitor, files) as trial,
        ):
            try:
                for report in trial.updates():
                    tell(report)
            except Exception:
                untold = trial.untold()
                raise
        return None
    except Exception as error:
        if isinstance(error, FencedError | StorageError) or is_full(error):
            raise
        untold = replace(untold, message=traceback.format_exc())
        if not is_out_of_memory(error):
            tell(replace(untold, ending=Ending.CRASHED))
            raise
    # Outside the handler, where the error and the objects in its frames are gone.
    free_memory()
    return replace(untold, ending=Ending.OUT_OF_MEMORY)


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
