"""What an experiment's folder says of its winner."""

from pathlib import Path

import pandas as pd

from benchmarks.real_searches.records import RealSearchError, Winner
from results import Results, load
from tuning.experiment.folder import Experiment, open_experiment
from tuning.trial.records import TrialRecords


def recommended(folder: Path) -> Winner:
    """What our search recommends, see `Results.recommended`; its score is the mean of its fresh trainings.

    Args:
        folder: of the experiment.

    Raises:
        RealSearchError: if no trial was evaluated.
    """
    results, experiment = load(folder), open_experiment(folder)
    if results.scored.empty:
        raise _nothing(folder)
    row, number = results.recommended, results.fresh.recommended
    score = row["score"] if number is None else results.fresh.complete[number]["rating"].mean()
    return _winner(results, experiment, int(row["trial"]), int(row["steps"]), float(score))


def best_evaluated(folder: Path) -> Winner:
    """The best evaluation of any trial at any time, as if each had left a checkpoint.

    Args:
        folder: of the experiment.

    Raises:
        RealSearchError: if no trial was evaluated.
    """
    results = load(folder)
    evaluated = _evaluated(results)
    if evaluated.empty:
        raise _nothing(folder)
    best = evaluated.loc[evaluated["score"].idxmax()]
    return _winner(results, open_experiment(folder), int(best["trial"]), int(best["steps"]), float(best["score"]))


def _winner(results: Results, experiment: Experiment, number: int, steps: int, score: float) -> Winner:
    reports = results.reports
    return Winner(
        library="ours",
        hyperparameters=dict(TrialRecords(experiment).assignment(number)),
        steps=steps,
        most_steps=experiment.settings.steps,
        score=score,
        trials=len(results.trials),
        evaluations=len(_evaluated(results)),
        trained_steps=int(reports.groupby("trial")["steps"].max().sum()),
    )


def _evaluated(results: Results) -> pd.DataFrame:
    return results.reports[results.reports["score"].notna()]


def _nothing(folder: Path) -> RealSearchError:
    return RealSearchError(f"{folder}: no trial was evaluated within the time; give a larger --budget, or fewer --steps")
