"""When a trial is evaluated: evenly over its budget, the last time at its end."""

from __future__ import annotations


def evaluations_due(steps: int, budget: int, reports: int) -> int:
    """Number of evaluations that are due after some steps.

    Args:
        steps: environment steps that the trial has taken.
        budget: steps of the whole trial.
        reports: evaluations of the whole trial.
    """
    return min(reports, steps * reports // budget)


def due_steps(evaluation: int, budget: int, reports: int) -> int:
    """Steps at which an evaluation is due. Trials are evaluated somewhat later, at the end of an update.

    Args:
        evaluation: its number, from 1 to `reports`.
        budget: see `evaluations_due`.
        reports: see `evaluations_due`.
    """
    return budget * evaluation // reports
