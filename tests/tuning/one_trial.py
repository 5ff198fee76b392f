"""Trials that are trained without a search, on a Ray that is started."""

from pathlib import Path
from typing import Any

from search_spaces import Assignment
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.trial.protocol import Proposal
from tuning.trial.records import TrialRecords
from tuning.trial.training import Training


def one_trial(schema: Path, folder: Path, steps: int, given: Assignment, algo: str = "ppo", **settings: Any) -> Experiment:
    """Train the one trial of a new experiment to its end.

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
            algo=algo, scenario=str(schema), backend="batch", name="one", dir=str(folder), steps=steps, evaluations=1,
            validation_weeks=1, num_envs=4, trials=1, **settings,
        )
    )  # fmt: skip
    h = algorithm(algo).space.complete(given, {"steps": float(steps)})
    train(of, Proposal(0, h))
    TrialRecords(of).end(0, "complete")
    return of


def train(experiment: Experiment, proposal: Proposal, steps: int | None = None) -> None:
    """Train a trial of an experiment to its end, or until it has told that it has taken so many steps."""
    records, running = TrialRecords(experiment), experiment.paths.running("this")
    running.touch()
    with Training(experiment, records.hand_out(proposal), running.exists) as trial:
        for report in trial.updates():
            records.take(proposal.number, report)
            if report.steps == steps:
                break
