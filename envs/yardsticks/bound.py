"""An upper bound of every policy: a linear programme that knows the whole year, over a relaxation of the site's physics.

The relaxation:

- batteries charge and discharge at their best efficiency and full power, and never wear out;
- charging sessions that begin and end together share their power;
- a thermal storage may take and give in one hour;
- every decision is made with full knowledge of what follows.

Each of these only adds freedom, so no policy exceeds the optimum. The gap is the price of foresight and of the relaxation.
HiGHS (Huangfu and Hall 2018) solves the programme through SciPy.

    maximise   sum over steps of the improvement reward (or: minimise emission, or cost, with every vehicle served)
    subject to net = base load + charging + battery + (filled - tapped) / efficiency - PV = import - export
                                                                                  for each building and step
               charge of the battery after = before + root * in - out / root      within its limits, in + out <= power
               held after = kept * before + root * filled - tapped / root         within the tank and what its device leaves
               delivered = efficiency * charging, missing >= required - delivered for each group of sessions
               ramp >= |change of the site's net|,  month's peaks >= net,  day's peak >= net
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from envs.cache import cached_file
from envs.errors import ScenarioError
from envs.objective.weights import DEFAULT, Weights
from envs.planning.linear_programme import LinearProgramme
from envs.scenarios.scenario import Window
from envs.task import Task
from envs.yardsticks.bound_programme import OBJECTIVES, Objective, constrain, set_objective
from envs.yardsticks.bound_site import BoundSite
from envs.yardsticks.bound_solution import Bound, BoundError, read_solution
from envs.yardsticks.linear_model import beyond_linear

if TYPE_CHECKING:
    from envs.batch_backend.simulator import BatchSimulator

__all__ = ["OBJECTIVES", "Bound", "BoundError", "Objective", "bound", "window_bound"]

VERSION = 4  # part of the cache's key


def bound(task: Task, window: Window, objective: Objective) -> Bound:
    """Optimum over a window of a year, solved the first time and cached.

    Raises:
        BoundError: see `window_bound`.
        ScenarioError: if the batch backend cannot step the site, or as `window_bound`.
    """
    from envs.environments.vector_env import open_years

    weights = task.aim.weights

    def write(path: Path) -> None:
        optimum = window_bound(open_years(task.site, [window.year], 1), window, objective, weights)
        path.write_text(json.dumps(asdict(optimum)), encoding="utf-8")

    part = f"{window.year}-{window.start}-{window.hours}"
    path = cached_file(f"{task.site.key}/bound-{objective}{weights.key}-{part}-v{VERSION}.json", write)
    return Bound(**json.loads(path.read_text(encoding="utf-8")))


def window_bound(simulator: BatchSimulator, window: Window, objective: Objective, weights: Weights = DEFAULT) -> Bound:
    """Optimum over a window of a year, the batteries as empty at its start as they may be.

    Raises:
        BoundError: if HiGHS finds no optimum.
        ScenarioError: if no linear programme describes the site.
    """
    from scipy.optimize import linprog

    reference = simulator.reference(window.year)
    assert reference is not None
    if reason := beyond_linear(reference.exogenous, reference.tariff):
        raise ScenarioError(reason)
    site = BoundSite(simulator, window, weights)
    programme = LinearProgramme()
    variables = constrain(programme, site)
    set_objective(programme, site, variables, objective)
    result = linprog(**programme.arguments(), method="highs-ipm")
    if result.status != 0:
        raise BoundError(f"the bound of {objective} for year {window.year} was not found: {result.message}")
    return read_solution(site, variables, result.x, objective)
