"""Names by which the driver, Ray Tune and trials exchange values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from envs.objective.aim import Outcome

# Configuration of a trial.
NUMBER = "number"
HYPERPARAMETERS = "hyperparameters"
EXPERIMENT = "experiment"
RUN = "run"
CONFIRMING = "confirming"  # there where it trains an assignment again, so it is no candidate for the best
TRUSTED = "trusted"  # whether it may run code of the scenario
BUNDLE = "bundle"  # resources that Ray reserves for it
LABELS = "labels"  # conditions on labels of its node, where not every node will do
VRAM_LIMIT = "vram_limit"  # GPU memory that it may take, bytes
RAM_LIMIT = "ram_limit"  # host memory that it may take, bytes
FALLBACK = "fallback"  # how it saves memory: an index into the ladder of `tuning.memory.planner`

# Keys of its reports.
STEPS = "steps"
SCORE = "score"
OBJECTIVE = "objective"  # value of the objective, if that is not the score
SHORTFALL = "shortfall"  # by how much requirements are missed, if there are any
OBJECTIVE_2, GAIN, GAIN_2 = "objective_2", "gain", "gain_2"  # with two objectives
EVALUATION = "evaluation"
EVALUATED = "evaluated"  # steps at which it was, where these are fewer than `STEPS`: a checkpoint may be newer
IDLE = "idle"  # whether the policy did nothing in this evaluation and all before; see `tuning.trial.idleness`
OUTCOME = "outcome"
MESSAGE = "message"  # a line for the user

# Outcomes of a trial's process, other than the end of its budget.
OUT_OF_MEMORY = "oom"
STOPPED = "stopped"  # the run ends; the next one continues the trial
DISK_FULL = "disk full"
STORAGE_LOST = "storage lost"


class DriverOnly:
    """Base of objects that exist in the driver alone; pickled, they are empty.

    Tune pickles searchers, schedulers and callbacks into snapshots. Nothing restores these: the study has everything. So
    journals and terminals, which cannot be pickled, are not needed in them.
    """

    def __getstate__(self) -> dict[str, object]:
        return {}


def outcome_of(result: Mapping[str, Any]) -> Outcome:
    """How the evaluation of a report came out; a score that is no number without one."""
    names = (OBJECTIVE, SHORTFALL, OBJECTIVE_2, GAIN, GAIN_2)
    return Outcome(float(result.get(SCORE, math.nan)), *(result.get(name) for name in names))
