"""When a trial is evaluated, and when it is given up, as its policy does nothing or nothing beside its plan.

It is evaluated evenly over its budget, the last time at its end. A policy does nothing where every hour of every evaluation is
as on the uncontrolled site, for instance as it discharges an empty battery at all hours. Net import is compared, not the score:
it tells of any objective, and a policy that charges vehicles otherwise does something.
"""

from collections.abc import Mapping
from typing import Any

from envs.objective.columns import CHANGED

# Part of a trial's budget. Of 45 random assignments of PPO and A2C on `iquitos` (60,000 steps), 16 did nothing after a quarter,
# and three of these ended among the best, at +0.061 to +0.064. After half, twelve did nothing; the best of these got +0.025.
GIVEN_UP = 0.5
_ROUNDING = 1e-6  # of the energy that the site exchanges with the grid


def evaluations_due(steps: int, budget: int, evaluations: int) -> int:
    """Number of evaluations that are due after some steps. `budget` and `evaluations` are those of the whole trial."""
    return min(evaluations, steps * evaluations // budget)


def due_steps(evaluation: int, budget: int, evaluations: int) -> int:
    """Steps at which an evaluation is due. Trials are evaluated somewhat later, at the end of an update.

    Evaluations count from 1.
    """
    return budget * evaluation // evaluations


def does_nothing(evaluation: Mapping[str, Any]) -> bool:
    """Whether the policy of an evaluation's row left a year's net import as it is without control; never of an environment."""
    if CHANGED not in evaluation:
        return False
    exchanged = evaluation["uncontrolled_import_kwh"] + evaluation["uncontrolled_export_kwh"]
    return bool(evaluation[CHANGED] <= _ROUNDING * exchanged)


def did_nothing(evaluations: int) -> str:
    """What a trial's row says of a policy that did nothing in so many evaluations, which are all of it."""
    hours = f"every hour of {_all_of(evaluations)} is as on the uncontrolled site"
    return f"policy does nothing, as one that discharges an empty battery: {hours}; more trials (--trials) begin otherwise"


def kept_plan(evaluations: int) -> str:
    """What a trial's row says of a policy that only followed its plan in so many evaluations, which are all of it."""
    return f"policy only follows its plan: {_all_of(evaluations)} came out as the plan alone does"


def _all_of(evaluations: int) -> str:
    return "its one evaluation" if evaluations == 1 else f"all of its {evaluations} evaluations"


def is_given_up(evaluation: int, steps: int, evaluations: int) -> bool:
    """Whether a trial is stopped at an evaluation, as its policy has done nothing for too long.

    After its last evaluation it has ended anyway.
    """
    return evaluation < evaluations and due_steps(evaluation, steps, evaluations) >= GIVEN_UP * steps
