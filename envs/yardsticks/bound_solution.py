"""Reads the solution of the bound's programme, and checks it against the site's own hours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from common.errors import InconsistentError
from envs.objective.day_peak import day_peak_rises
from envs.objective.reward import StepFigures, coefficients, improvement_terms
from envs.objective.series import import_kwh, solar_use_kwh
from envs.scenarios.tariff import demand_costs
from envs.yardsticks.bound_programme import Objective, Variables, could_exceed_pv, emission_and_cost, solar_loss
from envs.yardsticks.bound_site import BoundSite

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
