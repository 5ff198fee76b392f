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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from common.errors import InconsistentError
from envs.cache import cached_file
from envs.environments.fit import beyond_linear
from envs.errors import ScenarioError
from envs.objective.day_peak import day_peak_rises
from envs.objective.reward import StepFigures, coefficients, improvement_terms
from envs.objective.series import import_kwh, solar_use_kwh
from envs.objective.weights import DEFAULT, Weights
from envs.planning.linear_programme import LinearProgramme
from envs.scenarios.scenario import Window
from envs.scenarios.tariff import demand_costs
from envs.task import Task
from envs.yardsticks.bound_programme import (
    OBJECTIVES,
    Objective,
    Variables,
    constrain,
    could_exceed_pv,
    emission_and_cost,
    set_objective,
    solar_loss,
)
from envs.yardsticks.bound_site import BoundSite

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


TOLERANCE = 1e-4  # of the solver, as a part


@dataclass(frozen=True)
class Bound:
    """The optimum of one objective over a window."""

    objective: Objective
    score: float  # mean reward an hour
    co2_kg: float
    cost: float  # of energy and demand charge
    missing_kwh: float  # that vehicles lack
    import_kwh: float
    # PV energy used on site that the programme counts and its hours do not have. It is above 0 only where batteries can be
    # exported, as the reward is no linear function there. 0 means that the score is that of its hours.
    lent_kwh: float


class BoundError(InconsistentError):
    """The programme has no optimum, though every site has one, or a wrong one: a fault of this package."""


def read_solution(site: BoundSite, variables: Variables, solution: np.ndarray, objective: Objective) -> Bound:
    """Score, emission, cost and energies of a solution.

    Raises:
        BoundError: if emission, cost or PV use of the programme differ from those of its hours.
    """

    def total(terms: list[tuple[np.ndarray, Any]]) -> float:
        return float(sum((solution[variable] * factor).sum() for variable, factor in terms))

    own_emission, own_cost = emission_and_cost(site, variables)
    net = solution[variables.drawn] - solution[variables.fed]
    emission = float((import_kwh(net) * site.carbon).sum())
    site_import = import_kwh(net.sum(axis=0))
    cost = float(
        (import_kwh(net) * site.price).sum() + demand_costs(site.tariff, *site.calendar, site_import, site.start).sum()
    )
    worth = coefficients(site.scale, site.weights)
    for name, term, by_programme, by_hours in (
        ("emission", "co2", total(own_emission), emission), ("cost", "cost", total(own_cost), cost),
    ):  # fmt: skip
        # A quantity that is not part of the objective can lie anywhere above its least value.
        minimised = worth[term] > 0.0 if objective == "score" else objective == term
        if minimised and abs(by_programme - by_hours) > TOLERANCE * max(abs(by_hours), 1.0):
            raise BoundError(f"the bound's {name} is {by_programme:,.2f} by its programme and {by_hours:,.2f} by its hours")
    before = site.uncontrolled
    solar = float((site.pv - solution[variables.fed] * solar_loss(site)).sum())
    used = float(solar_use_kwh(net, site.pv).sum())
    if objective == "score" and not worth["solar"]:
        solar = used  # the programme has no reason to count it right
    lent = solar - used
    # Only the score has PV use in its objective; the others may import and export at once.
    if objective == "score" and not could_exceed_pv(site).any() and abs(lent) > TOLERANCE * max(solar, 1.0):
        raise BoundError(f"the bound uses {solar:,.2f} kWh of PV on site by its programme and {solar - lent:,.2f} by its hours")
    missing = float(solution[variables.missing].sum()) + site.lost_kwh
    previous = before.previous_net_kwh
    nets = net.sum(axis=0)
    ramp = float(np.abs(np.diff(nets, prepend=nets[0] if previous is None else previous)).sum())
    peaks = float(day_peak_rises(site.day, nets).sum())
    figures = StepFigures(emission, cost, solar, ramp, missing, peaks)
    score = sum(improvement_terms(figures, before.total, site.scale, site.weights).values()) / site.hours
    return Bound(objective, score, emission, cost, missing, float(import_kwh(net).sum()), lent)
