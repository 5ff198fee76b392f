"""An experiment with one trial that was trained to its end, on a Ray that is started."""

from pathlib import Path
from typing import Any

from search_spaces import Assignment
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.trial.proposal import Proposal
from tuning.trial.records import TrialRecords
from tuning.trial.training import Training


def one_trial(schema: Path, folder: Path, steps: int, given: Assignment, algo: str = "ppo", **settings: Any) -> Experiment:
    """Train it.

    Args:
        schema: of the site.
        folder: for the experiment, which is called `one`.
        steps: budget.
        given: hyperparameters other than the default ones.
        algo: algorithm.
        settings: further ones of the experiment.
    """
    of = create(
        Settings(
            algo=algo, scenario=str(schema), backend="batch", name="one", dir=str(folder), steps=steps, reports=1,
            validation_weeks=1, num_envs=4, trials=1, **settings,
        )
    )  # fmt: skip
    h = algorithm(algo).space.complete(given, {"steps": float(steps)})
    records, running = TrialRecords(of), of.paths.running("this")
    running.touch()
    records.begin(Proposal(0, h))
    with Training.begin(of, records, 0, h, running) as trial:
        for _ in trial.updates():
            pass
    records.end(0, "complete")
    return of
