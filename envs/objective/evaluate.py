"""Evaluate a policy: run it over an evaluation environment and compute its score and KPIs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from common.measure import SCORE
from envs.objective.citylearn_ratios import RATIOS, SCORE_2022, score_2022
from envs.objective.episodes import Episode, Policy
from envs.objective.joined_run import JoinedRun, Part
from envs.objective.kpis import Kpis, kpis
from envs.objective.reference import Reference
from envs.objective.reward import TERMS
from envs.objective.series import cut
from envs.objective.validity import check_episode, check_kpis


@dataclass(frozen=True)
class Evaluation:
    """How one policy did on one scenario year.

    Attributes:
        year: year number.
        hours: that were run.
        score: mean reward an hour.
        terms: mean weighted terms of the `improvement` reward an hour, by name.
        kpis: see `envs.objective.kpis`.
        uncontrolled: KPIs of the uncontrolled run over the same hours.
        changed_kwh: by how much net import differs from the uncontrolled run's, summed over hours and buildings; but for
            rounding 0 for a policy that does nothing.
        citylearn: CityLearn's own ratios and the score of its challenge, averaged over the windows, by column. NaN where
            there is none.
    """

    year: int
    hours: int
    score: float
    terms: dict[str, float]
    kpis: Kpis
    uncontrolled: Kpis
    changed_kwh: float
    citylearn: dict[str, float]


class EvaluationEnv(Protocol):
    """An environment that runs policies through its windows."""

    def episodes(self, policy: Policy) -> Iterable[Episode]:
        """Run a policy through all windows once, in their order."""

    def close(self) -> None:
        """Hand back what the next environment of this process can use."""


def evaluate(env: EvaluationEnv, policy: Policy) -> list[Evaluation]:
    """Run a policy through all windows of an environment once; an evaluation a year, in the order of the windows.

    Raises:
        ValidityError: if an energy balance or a KPI is inconsistent: a fault of this package.
    """
    years: dict[int, _Tally] = {}
    for episode in env.episodes(policy):
        check_episode(episode)
        years.setdefault(episode.window.year, _Tally(episode.reference)).add(episode)
    evaluations = [tally.evaluation(year) for year, tally in years.items()]
    for evaluation, tally in zip(evaluations, years.values(), strict=True):
        check_kpis(evaluation.year, evaluation.kpis, tally.vehicles_give)
    return evaluations


def score(evaluations: list[Evaluation]) -> float:
    """Mean reward an hour over all years; years count by their hours."""
    return SCORE.value([{"hours": evaluation.hours, "score": evaluation.score} for evaluation in evaluations])


class _Tally:
    """Sums over the windows of one year."""

    def __init__(self, reference: Reference) -> None:
        self._reference = reference
        self._steps = 0
        self._reward = 0.0
        self._changed = 0.0
        self._terms = dict.fromkeys(TERMS, 0.0)
        self._parts: list[Part] = []
        self._uncontrolled: list[Part] = []
        self._citylearn: list[dict[str, float]] = []
        self.vehicles_give = reference.exogenous.vehicles_give

    def add(self, episode: Episode) -> None:
        window = episode.window
        self._steps += window.hours
        self._reward += episode.reward
        for name, value in episode.terms.items():
            self._terms[name] += value
        self._parts.append(Part(window.start, episode.run))
        uncontrolled = cut(self._reference.run, window.start, window.hours)
        self._changed += float(np.abs(episode.run.net_kwh - uncontrolled.net_kwh).sum(dtype=np.float64))
        self._uncontrolled.append(Part(window.start, uncontrolled))
        self._citylearn.append(episode.citylearn)

    def evaluation(self, year: int) -> Evaluation:
        reference = self._reference
        of_year = (reference.exogenous, reference.sessions, reference.tariff)
        ratios = {
            column: float(np.mean([own.get(name, math.nan) for own in self._citylearn])) for column, name in RATIOS.items()
        }
        return Evaluation(
            year=year,
            hours=self._steps,
            score=self._reward / self._steps,
            terms={name: value / self._steps for name, value in self._terms.items()},
            kpis=kpis(JoinedRun(self._parts, *of_year)),
            uncontrolled=kpis(JoinedRun(self._uncontrolled, *of_year)),
            changed_kwh=self._changed,
            citylearn={**ratios, SCORE_2022: score_2022(ratios)},
        )
