"""Settings of memory predictions and examinations; the command lines are generated from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from tuning.experiment.option_values import ALL, choice
from tuning.experiment.settings import SiteSettings


@dataclass(frozen=True)
class MemorySettings(SiteSettings):
    """Predict the GPU memory and host memory of a trial, term by term, and how many trials run at once."""

    algo: Annotated[str, choice()] = "ppo"
    """Learning algorithm."""
    env: str = ""
    """Gymnasium environment in place of the site; as for a search."""
    env_config: str = ""
    """TOML or JSON file with keyword arguments of the environment."""
    backend: Literal["auto", "batch", "citylearn"] = "auto"
    """What steps the site; as for a search."""
    num_envs: int = 32
    """Copies of the site at most."""
    steps: int = 250_000
    """Environment steps of a trial."""
    set: Annotated[
        tuple[tuple[str, ...], ...],
        tyro.conf.UseAppendAction,
        tyro.conf.arg(metavar="KEY=VALUE", help="Hyperparameters that differ from the default."),
    ] = ()
    preset: str = ""
    """A named assignment, such as rtx4060-after; --set goes before it."""
    teacher: Literal["none", "mpc"] = "none"
    """What the policy begins as a copy of."""
    device: Literal["auto", "cpu", "gpu"] = "auto"
    """Where it learns; by default on a card if there is one. gpu on a machine without a card assumes one with --gpu-memory."""
    gpu_memory: float = 0.0
    """GPU memory that all trials on a card may take together, GiB; 0 for the smaller of 8 and what the card has."""


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
