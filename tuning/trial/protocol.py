"""What driver, Tune and trials have agreed on."""

# Configuration of a trial.
NUMBER = "number"
HYPERPARAMETERS = "hyperparameters"
EXPERIMENT = "experiment"
RUN = "run"
BUNDLE = "bundle"  # what Ray reserves for it
VRAM_LIMIT = "vram_limit"  # bytes of GPU memory that it may take
RAM_LIMIT = "ram_limit"  # bytes of host memory
RUNG = "rung"  # of the ladder in `tuning.memory.fallbacks`

# What it reports.
STEPS = "steps"
SCORE = "score"
EVALUATION = "evaluation"
OUTCOME = "outcome"
MESSAGE = "message"  # a line for whoever sits before the terminal

# Outcomes of a trial's process other than the end of its budget.
OUT_OF_MEMORY = "oom"
STOPPED = "stopped"  # the run ends; the trial goes on with the next one
DISK_FULL = "disk full"


class DriverOnly:
    """Base of what lives in the driver alone.

    Tune pickles searchers, schedulers and callbacks into snapshots. Nothing restores these, as all
    that lasts is in the study; so their journals and terminals, which cannot be pickled, stay out.
    """

    def __getstate__(self) -> dict[str, object]:
        return {}
