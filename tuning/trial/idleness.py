"""Policies that do nothing: every hour of every evaluation is as on the uncontrolled site.

Such a policy scores exactly what the uncontrolled site does, for instance as it discharges an empty battery at all hours. Its
trial is stopped once it has trained for `GIVEN_UP` of its budget. Net import is compared, not the score: it tells of any
objective, and a policy that charges vehicles otherwise does something.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from envs.objective.columns import CHANGED
from results.table_files import read_rows
from tuning.trial.evaluation_schedule import due_steps
from tuning.trial.protocol import EVALUATION, IDLE

# Part of a trial's budget. Of 45 random assignments of PPO and A2C on `iquitos` (60,000 steps), 16 did nothing after a quarter,
# and three of these ended among the best, at +0.061 to +0.064. After half, twelve did nothing; the best of these got +0.025.
GIVEN_UP = 0.5
_ROUNDING = 1e-6  # of the energy that the site exchanges with the grid


def does_nothing(evaluation: Mapping[str, Any]) -> bool:
    """Whether an evaluated policy left a year's net import as it is without control.

    Args:
        evaluation: its row. One of an earlier version does not tell, so the answer is no.
    """
    changed = evaluation.get(CHANGED)
    if changed is None:
        return False
    exchanged = evaluation["uncontrolled_import_kwh"] + evaluation["uncontrolled_export_kwh"]
    return bool(changed <= _ROUNDING * exchanged)


def noticed(evaluations: Iterable[Mapping[str, Any]]) -> str | None:
    """What a trial's row says of a policy that does nothing; None of another one.

    Args:
        evaluations: all rows of the trial so far, one for each evaluation and year.
    """
    rows = list(evaluations)
    if not rows or not all(map(does_nothing, rows)):
        return None
    count = len({row["steps"] for row in rows})
    times = "its one evaluation" if count == 1 else f"all of its {count} evaluations"
    return f"policy does nothing: every hour of {times} is as on the uncontrolled site"


def noticed_in(folder: Path, trial: int) -> str | None:
    """The same of the evaluations that a trial has in the results.

    Args:
        folder: of the experiment.
        trial: its number.
    """
    return noticed(read_rows(folder, "evaluations", trial))


def is_given_up(result: Mapping[str, Any], steps: int, reports: int) -> bool:
    """Whether a trial that reports an evaluation is stopped, as its policy has done nothing for too long.

    Args:
        result: of the trial's report.
        steps: budget of a trial.
        reports: evaluations of a trial; after the last one it has ended anyway.
    """
    evaluation = int(result[EVALUATION])
    return bool(result.get(IDLE)) and evaluation < reports and due_steps(evaluation, steps, reports) >= GIVEN_UP * steps
