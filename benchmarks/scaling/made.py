"""Made-up searches: fake trials, and studies that have many of them already."""

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, distribution_to_json
from optuna.samplers import RandomSampler
from optuna.storages.journal import JournalFileBackend
from optuna.storages.journal._storage import JournalOperation
from optuna.trial import TrialState

from search_spaces import Assignment, SearchSpace
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import Experiment, create
from tuning.experiment.settings import Settings
from tuning.search.record.journal import open_mended_journal
from tuning.search.record.trials import Key
from tuning.trial.evaluations import due_steps

STEPS, REPORTS = 500_000, 20  # of a trial
LIMITS = {"steps": float(STEPS)}
SPACE: SearchSpace = algorithm("ppo").space
DISTRIBUTIONS: dict[str, BaseDistribution] = SPACE.distributions({}, LIMITS)
OPTIMUM = np.random.default_rng(7).uniform(0.2, 0.8, len(DISTRIBUTIONS))


def experiment(folder: Path, **settings: Any) -> Experiment:
    """A new experiment of PPO's whole space."""
    given: dict[str, Any] = {"name": "many", "dir": str(folder), "steps": STEPS, "evaluations": REPORTS, "algo": "ppo"}
    return create(Settings(**{**given, **settings}))


def rating(assignment: Assignment, evaluation: int, seed: int) -> float:
    """What a fake trial reports: a plateau that follows from the assignment, reached along the steps, and noise.

    Args:
        assignment: of it.
        evaluation: its number, from 1.
        seed: of the trial.
    """
    point = SPACE.point(assignment, DISTRIBUTIONS)
    places = np.array([_place(DISTRIBUTIONS[name], point[name]) for name in DISTRIBUTIONS])
    end = 0.2 - 0.25 * float(np.square(places - OPTIMUM).mean())
    noise = np.random.default_rng([seed, evaluation]).normal(0.0, 0.002)
    return end * (1.0 - math.exp(-4.0 * evaluation / REPORTS)) + float(noise)


def _place(within: BaseDistribution, value: Any) -> float:
    """Where a value lies in its range, from 0 to 1."""
    if (choices := getattr(within, "choices", None)) is not None:
        return choices.index(value) / max(1, len(choices) - 1)
    low, high = getattr(within, "low", 0.0), getattr(within, "high", 1.0)
    if getattr(within, "log", False):
        low, high, value = math.log(low), math.log(high), math.log(value)
    return (value - low) / (high - low) if high > low else 0.5


def assignments(count: int, seed: int = 0) -> Iterator[Assignment]:
    """Assignments that are drawn at random of PPO's space."""
    sampler, nothing = RandomSampler(seed=seed), None
    for _ in range(count):
        point = {name: sampler.sample_independent(nothing, nothing, name, own) for name, own in DISTRIBUTIONS.items()}  # type: ignore[arg-type]
        yield SPACE.assignment(point, {}, LIMITS)


def evaluations_of(number: int) -> int:
    """How many evaluations a trial of a grown study has: most end early, as in a search that freezes or stops trials."""
    return REPORTS if number % 10 == 0 else 4 + number % 3


def grow(of: Experiment, trials: int, frozen: bool) -> None:
    """Write a journal with ended trials, as a search would have, in one piece.

    Args:
        of: experiment without a study.
        trials: how many.
        frozen: whether those that did not get to their end wait; else the pruner has stopped them.
    """
    storage = open_mended_journal(of.paths.study)
    optuna.create_study(storage=storage, study_name=of.settings.name, direction="maximize")
    described = {name: distribution_to_json(within) for name, within in DISTRIBUTIONS.items()}
    now = datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
    backend: JournalFileBackend = storage._backend  # type: ignore[assignment]
    lines: list[dict[str, Any]] = []
    for number, assignment in enumerate(assignments(trials)):
        lines += list(_entries(number, assignment, described, now, frozen))
        if len(lines) > 100_000:
            backend.append_logs(lines)
            lines = []
    backend.append_logs(lines)


def _entries(
    number: int, assignment: Assignment, described: dict[str, str], now: str, frozen: bool
) -> Iterator[dict[str, Any]]:
    """The entries of a trial, as Optuna writes them."""
    whole, worker = number % 10 == 0, "made"
    point = SPACE.point(assignment, DISTRIBUTIONS)
    yield {
        "op_code": int(JournalOperation.CREATE_TRIAL), "worker_id": worker, "study_id": 0, "datetime_start": now,
        "state": int(TrialState.RUNNING), "distributions": described,
        "params": {name: DISTRIBUTIONS[name].to_internal_repr(value) for name, value in point.items()},
        "user_attrs": {Key.HYPERPARAMETERS: assignment}, "system_attrs": {}, "intermediate_values": {},
        "value": None, "values": None,
    }  # fmt: skip
    last = 0.0
    for evaluation in range(1, evaluations_of(number) + 1):
        last = rating(assignment, evaluation, number)
        yield {
            "op_code": int(JournalOperation.SET_TRIAL_INTERMEDIATE_VALUE), "worker_id": worker, "trial_id": number,
            "step": due_steps(evaluation, STEPS, REPORTS), "intermediate_value": last,
        }  # fmt: skip
    state = TrialState.COMPLETE if whole else TrialState.WAITING if frozen else TrialState.PRUNED
    end: dict[str, Any] = {
        "op_code": int(JournalOperation.SET_TRIAL_STATE_VALUES), "worker_id": worker, "trial_id": number, "state": int(state),
        "values": None if state is TrialState.WAITING else [last],
    }  # fmt: skip
    yield end if state is TrialState.WAITING else {**end, "datetime_complete": now}
