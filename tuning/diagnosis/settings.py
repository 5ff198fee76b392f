"""Settings of memory predictions and examinations; the command lines are generated from them."""

from dataclasses import dataclass
from typing import Annotated, Literal

from tuning.experiment.option_values import ALL, choice
from tuning.experiment.settings import SiteSettings, TrialSettings


@dataclass(frozen=True)
class MemorySettings(TrialSettings):
    """Predict the GPU memory and host memory of a trial, term by term, and how many trials run at once."""

    device: Literal["auto", "cpu", "gpu"] = "auto"
    """Where it learns; by default on a card if there is one. gpu on a machine without a card assumes one with --gpu-memory."""


@dataclass(frozen=True)
class DoctorSettings(SiteSettings):
    """Check that this machine can run searches, by training a little with each algorithm."""

    algo: Annotated[str, choice(ALL)] = ALL
    """Algorithms that take real updates."""
    gpu_memory: float = 0.0
    """GPU memory that all trials on a card may take together, GiB; 0 for the smaller of 8 and what the card has."""
    dir: str = "experiments"
    """Folder for experiments."""
    switches: bool = False
    """Measure TF32, bfloat16, torch.compile and pinned memory without a card too; takes some minutes."""
