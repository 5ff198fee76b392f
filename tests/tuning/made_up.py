"""What a trial tells that is made up, in place of training."""

from typing import Any

from envs.objective.aim import Outcome
from tuning.trial.protocol import Evaluated, Report


def evaluated(number: int, evaluation: int, steps: int, score: float, saved: bool = True, **of_outcome: Any) -> Report:
    """An evaluation of a policy that does something, which is its only one since the evaluation before.

    Args:
        number: of the trial.
        evaluation: its number.
        steps: that the trial has taken.
        score: of the evaluation.
        saved: whether a checkpoint was written just before; without one the trial tells its last evaluation again.
        of_outcome: more of its outcome.
    """
    of = Evaluated(evaluation, steps, Outcome(score, **of_outcome))
    columns = {"steps": steps, "score": score, "updates": evaluation}
    if not saved:
        return Report(steps, evaluated=of, columns=columns)
    row: dict[str, Any] = {"trial": number, "steps": steps, "score": score}
    changed = {"year": 0, "changed_kwh": 1.0, "uncontrolled_import_kwh": 1.0, "uncontrolled_export_kwh": 0.0}
    return Report(
        steps,
        saved=True,
        evaluated=of,
        reports=[{**row, "update": evaluation}],
        evaluations=[{**row, **changed}],
        columns=columns,
    )
