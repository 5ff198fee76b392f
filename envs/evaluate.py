"""Run a policy over an evaluation environment and say how it did."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from envs.kpis import Kpis, Part, kpis
from envs.reward import WEIGHTS
from envs.series import Run
from envs.site_env import SiteEnv

Policy = Callable[[np.ndarray], np.ndarray]

# Ratios of CityLearn's `evaluate()` that are kept, by the name of our column.
CITYLEARN_RATIOS = {
    "citylearn_electricity_consumption_total": "electricity_consumption_total",
    "citylearn_carbon_emissions_total": "carbon_emissions_total",
    "citylearn_cost_total": "cost_total",
    "citylearn_zero_net_energy": "zero_net_energy",
    "citylearn_ramping_average": "ramping_average",
    "citylearn_daily_peak_average": "daily_peak_average",
    "citylearn_all_time_peak_average": "all_time_peak_average",
}


@dataclass(frozen=True)
class Evaluation:
    """How one policy did on one scenario year.

    Attributes:
        year: year number.
        score: mean reward an hour.
        terms: mean weighted terms of the `improvement` reward an hour, by name.
        kpis: see `envs.kpis`.
        uncontrolled: KPIs of the uncontrolled run over the same hours.
        citylearn: CityLearn's own ratios, averaged over the windows; NaN where it gives none.
    """

    year: int
    score: float
    terms: dict[str, float]
    kpis: Kpis
    uncontrolled: Kpis
    citylearn: dict[str, float]


def evaluate(env: SiteEnv, policy: Policy) -> list[Evaluation]:
    """Run a policy through all windows of an environment once.

    Args:
        env: with order `sequence`.
        policy: maps an observation, shape (observations,), to an action, shape (actions,).

    Returns:
        One evaluation per year, in the order of the windows.
    """
    years: dict[int, _Tally] = {}
    for _ in env.windows:
        observation, info = env.reset()
        tally = years.setdefault(info["window"].year, _Tally(env))
        done = False
        while not done:
            observation, reward, _, done, terms = env.step(policy(observation))
            tally.add_step(reward, terms)
        tally.add_window(env)
    return [tally.evaluation(year) for year, tally in years.items()]


def score(evaluations: list[Evaluation]) -> float:
    """Mean reward an hour over all years; years count by their hours."""
    hours = [evaluation.kpis.hours for evaluation in evaluations]
    return float(np.average([evaluation.score for evaluation in evaluations], weights=hours))


class _Tally:
    """Sums over the windows of one year."""

    def __init__(self, env: SiteEnv) -> None:
        self._reference = env.reference
        self._capacity = env.simulator.battery_capacity_kwh
        self._steps = 0
        self._reward = 0.0
        self._terms = dict.fromkeys(WEIGHTS, 0.0)
        self._parts: list[Part] = []
        self._uncontrolled: list[Part] = []
        self._citylearn: list[dict[str, float]] = []

    def add_step(self, reward: float, terms: dict[str, float]) -> None:
        self._steps += 1
        self._reward += reward
        for name, value in terms.items():
            self._terms[name] += value

    def add_window(self, env: SiteEnv) -> None:
        window = env.window
        self._parts.append(Part(window.start, env.run()))
        self._uncontrolled.append(Part(window.start, _cut(self._reference.run, window.start, window.hours)))
        self._citylearn.append(env.simulator.citylearn_kpis())

    def evaluation(self, year: int) -> Evaluation:
        reference = self._reference
        year_of = (reference.exogenous, reference.sessions, reference.tariff, self._capacity)
        return Evaluation(
            year=year,
            score=self._reward / self._steps,
            terms={name: value / self._steps for name, value in self._terms.items()},
            kpis=kpis(self._parts, *year_of),
            uncontrolled=kpis(self._uncontrolled, *year_of),
            citylearn={
                column: float(np.mean([ratios.get(name, math.nan) for ratios in self._citylearn]))
                for column, name in CITYLEARN_RATIOS.items()
            },
        )


def _cut(run: Run, start: int, hours: int) -> Run:
    part = slice(start, start + hours)
    return replace(
        run, net_kwh=run.net_kwh[:, part], battery_kwh=run.battery_kwh[:, part], charging_kwh=run.charging_kwh[:, part]
    )
