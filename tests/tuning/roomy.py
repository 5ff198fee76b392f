"""A planner of a machine on which all trials of a small site fit."""

from pathlib import Path
from typing import Any

from common.units import GIB
from tuning.experiment.folder import Experiment
from tuning.experiment.settings import Settings
from tuning.memory.allocation import Budget, Kind, Node
from tuning.memory.planner import Calibration, Planner
from tuning.memory.prediction import Sizes

SMALL = Sizes(
    observations=40, actions=5, chargers=4, charger_features=4, training_years=1, sessions=100,
    year_bytes=200_000, joined_bytes=100_000, single_bytes=10_000, copy_bytes=4_000,
)  # fmt: skip


def roomy(experiment: Experiment) -> Planner:
    """A planner of an experiment; all of its trials fit."""
    return planner(experiment.settings, experiment.paths.folder)


def planner(settings: Settings, folder: Path, **budget: Any) -> Planner:
    """A planner.

    Args:
        settings: of the experiment.
        folder: for what is calibrated.
        budget: what of the machine's is not enough for all: cores, cards, memory.
    """
    # No more than the smallest machine has: Ray waits for ever for what there is not.
    has = {"gpus": 0, "card_bytes": 0, "ram_bytes": 4 * GIB, "cores": 2, **budget}
    kind = Kind((Node(**has, id="", device="cpu"),))
    return Planner(settings, SMALL, Budget(**has), "cpu", Calibration(folder / "calibration.json"), (kind,))
