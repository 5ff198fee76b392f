"""What driver, Tune and trials have agreed on."""

# Configuration of a trial.
NUMBER = "number"
HYPERPARAMETERS = "hyperparameters"
EXPERIMENT = "experiment"

# What it reports.
STEPS = "steps"
SCORE = "score"
EVALUATION = "evaluation"
OUTCOME = "outcome"
OUT_OF_MEMORY = "oom"


class DriverOnly:
    """Base of what lives in the driver alone.

    Tune pickles searchers, schedulers and callbacks into snapshots. Nothing restores these, as all
    that lasts is in the study; so their journals and terminals, which cannot be pickled, stay out.
    """

    def __getstate__(self) -> dict[str, object]:
        return {}
