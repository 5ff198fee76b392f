"""Experiments and assignments of trials that take a second."""

from pathlib import Path
from typing import Any

from search_spaces import SearchSpace
from tuning.algorithms.registry import algorithm, algorithm_of
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.trial.protocol import Proposal
from tuning.trial.records import TrialRecords

STEPS_OF_A_TRIAL, EVALUATIONS = 960, 3
SMALL: dict[str, dict[str, Any]] = {
    "ppo": {"n_steps": 64, "batch_size": 32, "n_epochs": 2},
    "a2c": {"n_steps": 64},
    "sac": {"batch_size": 16, "train_freq": 8, "gradient_steps": 2, "learning_starts": 100, "buffer_size": 400},
}


def experiment(
    folder: Path, schema: Path, algo: str, backend: str = "batch", steps: int = STEPS_OF_A_TRIAL, **others: Any
) -> Experiment:
    return create(
        Settings(
            algo=algo,  # type: ignore[arg-type]
            scenario=str(schema),
            backend=backend,  # type: ignore[arg-type]
            name=folder.name,
            dir=str(folder.parent),
            steps=steps,
            evaluations=EVALUATIONS,
            validation_weeks=1,
            num_envs=4,
            **others,
        )
    )


def in_environment(folder: Path, env: str, algo: str, **others: Any) -> Experiment:
    """An experiment of an environment, with two episodes an evaluation."""
    given: dict[str, Any] = {"episodes": 2, "num_envs": 4, "steps": STEPS_OF_A_TRIAL, "evaluations": EVALUATIONS, **others}
    return create(
        Settings(algo=algo, env=env, name=folder.name, dir=str(folder.parent), **given)  # type: ignore[arg-type]
    ).trusting(True)


def hyperparameters(algo: str, space: SearchSpace | None = None, **others: Any) -> dict[str, Any]:
    default = {parameter.name: parameter.default for parameter in (space or algorithm(algo).space).parameters}
    return {**default, **SMALL[algo], "hidden_sizes": "8", **others}


def completed(of: Experiment, *trials: tuple[float, dict[str, Any]]) -> Experiment:
    """An experiment with a complete trial for each score, of the default with a change; nothing is trained."""
    records = TrialRecords(of)
    for number, (score, change) in enumerate(trials):
        h = algorithm_of(of.settings).space.complete(change, {"steps": float(of.settings.steps)})
        records.begin(Proposal(number, h))
        records.update(number, score=score)
        records.end(number, "complete")
    return of
