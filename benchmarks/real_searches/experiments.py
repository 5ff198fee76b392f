"""What an experiment's folder says of its winner."""

from pathlib import Path

import pandas as pd

from benchmarks.real_searches.records import RealSearchError, Winner
from results import Results, load
from results.analysis.searched import DEFAULT
from results.loader import ratings
from tuning.experiment.folder import Experiment, open_experiment
from tuning.experiment.settings import LEAST_CONFIRMING_RUNS
from tuning.trial.records import TrialRecords


def confirmed_or_best(folder: Path) -> Winner:
    """What our search recommends: of the assignments that were trained again the one with the best mean, else the best trial.

    The default is among those that were trained again, and counts only beside another one. They were trained to the end; a
    best trial has the steps that it had.

    Args:
        folder: of the experiment.

    Raises:
        RealSearchError: if no trial was evaluated.
    """
    results, experiment = load(folder), open_experiment(folder)
    again = results.confirmations
    whole = again[again["state"] == "complete"]
    runs = whole.assign(rating=ratings(whole)).groupby("confirms").agg(
        mean=("rating", "mean"), count=("rating", "size"), trial=("trial", "first"), role=("confirm_role", "first")
    )  # fmt: skip
    runs = runs[runs["count"] >= LEAST_CONFIRMING_RUNS]
    if (runs["role"] != DEFAULT).any():
        best = runs.sort_values("mean", ascending=False, kind="stable").iloc[0]
        steps = whole.loc[whole["trial"] == best["trial"], "steps"].item()
        return _winner(results, experiment, int(best["trial"]), int(steps), float(best["mean"]))
    scored = results.scored
    if scored.empty:
        raise _nothing(folder)
    row = results.best
    return _winner(results, experiment, int(row["trial"]), int(row["steps"]), float(row["score"]))


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
