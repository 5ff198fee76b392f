"""Evaluate a policy: run it over an evaluation environment, check what comes out, and compute its score and KPIs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np

from common.errors import InconsistentError
from common.measure import SCORE, exceeds
from common.units import DAY
from envs.objective.kpis import KPIS, RATIOS, JoinedRun, Kpis, Part, district_ratios, kpis, scores
from envs.objective.reference import Reference
from envs.objective.reward import TERMS
from envs.objective.series import Run
from envs.scenarios.scenario import Window


@dataclass(frozen=True)
class Evaluation:
    """How one policy did on one scenario year."""

    year: int
    hours: int  # that were run
    score: float  # mean reward a step
    terms: dict[str, float]  # mean weighted terms of the `improvement` reward a step, by name
    kpis: Kpis  # see `envs.objective.kpis`.
    uncontrolled: Kpis  # KPIs of the uncontrolled run over the same hours
    # by how much net import differs from the uncontrolled run's, summed over hours and buildings; but for rounding 0 for a
    # policy that does nothing
    changed_kwh: float
    # CityLearn's own ratios and the score of its challenge, averaged over the windows, by column. NaN where there is none.
    citylearn: dict[str, float]


class EvaluationEnv(Protocol):
    """An environment that runs policies through its windows."""

    def episodes(self, policy: Policy) -> Iterable[Episode]:
        """Run a policy through all windows once, in their order."""


def evaluate(env: EvaluationEnv, policy: Policy) -> list[Evaluation]:
    """Run a policy once through all windows; see `evaluated`."""
    return evaluated(env.episodes(policy))


def evaluated(episodes: Iterable[Episode]) -> list[Evaluation]:
    """Evaluations of runs, one a year in their order; a `ValidityError` where figures are inconsistent."""
    years: dict[int, _Year] = {}
    for episode in episodes:
        check_episode(episode)
        years.setdefault(episode.window.year, _Year(episode.reference)).add(episode)
    evaluations = [year.evaluation(number) for number, year in years.items()]
    for evaluation, year in zip(evaluations, years.values(), strict=True):
        check_kpis(evaluation.year, evaluation.kpis, year.reference.exogenous.vehicles_give)
    return evaluations


def score(evaluations: list[Evaluation]) -> float:
    """Mean reward an hour over all years; years count by their hours."""
    return SCORE.value([{"hours": evaluation.hours, "score": evaluation.score} for evaluation in evaluations])


_UNCONTROLLED: WeakKeyDictionary[Reference, dict[tuple[Window, ...], Kpis]] = WeakKeyDictionary()


class _Year:
    """Adds up the episodes of a year. Policies' runs are not kept: each has figures of all the year's sessions."""

    def __init__(self, reference: Reference) -> None:
        self.reference = reference
        self._windows: list[Window] = []
        self._parts: list[Part] = []
        self._before: list[Run] = []
        self._ratios: list[dict[str, float]] = []
        self._reward, self._changed, self._terms = 0.0, 0.0, dict.fromkeys(TERMS, 0.0)

    def add(self, episode: Episode) -> None:
        window, run = episode.window, episode.run
        self._windows.append(window)
        self._parts.append(Part.of(window.start, run, self.reference.sessions))
        self._before.append(episode.uncontrolled)
        self._ratios.append(_ratios(episode))
        self._reward += episode.reward
        self._changed += float(np.abs(run.net_kwh - episode.uncontrolled.net_kwh).sum(dtype=np.float64))
        for name, value in episode.terms.items():
            self._terms[name] += value

    def evaluation(self, year: int) -> Evaluation:
        # Each evaluation of a trial has the same windows.
        of_windows, windows = _UNCONTROLLED.setdefault(self.reference, {}), tuple(self._windows)
        if windows not in of_windows:
            pairs = zip(windows, self._before, strict=True)
            of_windows[windows] = self._kpis([Part.of(window.start, run, self.reference.sessions) for window, run in pairs])
        steps = sum(window.hours for window in windows)
        ratios = {name: float(np.mean([ratios[name] for ratios in self._ratios])) for name in RATIOS}
        of_policy = self._kpis(self._parts)
        return Evaluation(
            year=year,
            hours=steps // self.reference.exogenous.steps_per_hour,
            score=self._reward / steps,
            terms={name: value / steps for name, value in self._terms.items()},
            kpis=of_policy,
            uncontrolled=of_windows[windows],
            changed_kwh=self._changed,
            citylearn={**ratios, **scores(ratios, of_policy)},
        )

    def _kpis(self, parts: Sequence[Part]) -> Kpis:
        return kpis(JoinedRun(parts, self.reference.exogenous, self.reference))


def _ratios(episode: Episode) -> dict[str, float]:
    series, part = episode.reference.exogenous, episode.window.rows
    run, day = episode.run, DAY * series.steps_per_hour
    return district_ratios(run.net_kwh, run.baseline_kwh, series.price[:, part], series.carbon[:, part], day)


# Maps observations, shape (copies, observations), to actions, shape (copies, actions).
Policy = Callable[[np.ndarray], np.ndarray]

TRAINING_HOURS = 336  # hours: length of a training episode: two weeks, so that few steps see many seasons
EVALUATION_SEED = 0  # of the vehicles' drift in evaluations


@dataclass(frozen=True)
class Episode:
    """A run through one window."""

    window: Window
    reference: Reference  # uncontrolled run of its year
    reward: float  # sum of the rewards
    terms: dict[str, float]  # sums of the weighted terms of the `improvement` reward, by name
    run: Run  # energies of each hour
    uncontrolled: Run  # of the same hours, see `envs.environments.year_cache.run_alone`


# Series are float32, and CityLearn rounds on the way; a wrong sign or a forgotten device is a thousand times as much.
RELATIVE = 1e-4


class ValidityError(InconsistentError):
    """A result that physics or arithmetic forbid: a fault of this package, not of the policy. The message has the numbers."""


def check_episode(episode: Episode) -> None:
    """Check that energy adds up, hour by hour and building by building; a `ValidityError` where it differs most.

    Net import is load less PV, plus what batteries, sockets and other devices take: the rest, nothing where the site has none
    of these, and never less than nothing. In a power outage net import is zero.
    """
    window, run, series = episode.window, episode.run, episode.reference.exogenous
    parts = {
        "load": series.load_kwh[:, window.rows], "PV": -series.pv_kwh[:, window.rows], "battery": run.battery_kwh,
        "sockets": run.charging_kwh,
    }  # fmt: skip
    # Over the size of the parts, and of 1 kWh.
    unexplained = (run.net_kwh - sum(parts.values())) / (sum(map(np.abs, parts.values())) + 1.0)
    error = np.maximum(-unexplained, 0.0) if series.other_devices else np.abs(unexplained)
    error = np.where(run.off_grid, np.abs(run.net_kwh), error)
    # Written so that NaN fails.
    if not (error <= RELATIVE).all():
        at = np.unravel_index(int(np.nan_to_num(error, nan=np.inf).argmax()), error.shape)
        summed = ", ".join(f"{name} {values[at]:,.3f}" for name, values in parts.items())
        raise ValidityError(
            f"year {window.year}, hour {window.start + int(at[1])}: building {int(at[0])} imports {run.net_kwh[at]:,.3f} kWh "
            f"net, but its parts are {summed}"
        )


def check_kpis(year: int, kpis: Kpis, vehicles_give: bool = False) -> None:
    """Check that KPIs lie within the bounds of `KPIS`; a `ValidityError` at the first that does not."""
    for name, kpi in KPIS.items():
        value, bounds = kpis[name], kpi.bounds_where(vehicles_give)
        if np.isnan(value) and bounds.may_be_nan:
            continue
        # Written so that NaN fails.
        if not (np.isfinite(value) and bounds.low - RELATIVE <= value <= bounds.high + RELATIVE):
            raise ValidityError(
                f"year {year}: {name} is {value:,.4f}; it has to be finite and lie from {bounds.low:g} to {bounds.high:g}"
            )
        if bounds.at_most and value > kpis[bounds.at_most] * (1.0 + RELATIVE) + RELATIVE:
            raise ValidityError(
                f"year {year}: {name} is {value:,.3f}, more than {bounds.at_most}, which is {kpis[bounds.at_most]:,.3f}"
            )


def check_score(name: str, year: int, score: float, bound: float) -> None:
    """Check that a score is not above what perfect foresight reaches; a `ValidityError` if it is."""
    if exceeds(score, bound):
        raise ValidityError(f"{name}, year {year}: a score of {score:+.6f} is above the bound of {bound:+.6f}")
