"""Trainers of trials, and the trained policies that they read from checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from common.errors import UsageError
from envs.environments.fit import check_seen
from envs.objective.evaluate import Policy
from envs.objective.weights import Weights
from envs.scenarios.scenario import Split
from envs.task import SiteTask, Task
from search_spaces import Assignment
from search_spaces.common import REWARD_SHARE
from tuning.algorithms.networks.building_kinds import UnfitError
from tuning.algorithms.registry import algorithm
from tuning.algorithms.trainer import Acting, Setup
from tuning.experiment.folder import Experiment
from tuning.experiment.settings import MOST_DIGITS, Settings
from tuning.runtime.ray_session import ray_session
from tuning.trial.checkpoint import Checkpoint, Checkpoints
from tuning.trial.checkpoint_files import DamageError
from tuning.trial.records import TrialRecords

if TYPE_CHECKING:
    from torch import nn

    from envs.task import SiteEvaluator
    from results import Results
    from tuning.algorithms.networks.building_view import BuildingView
    from tuning.algorithms.networks.views import ChangedActions, SiteView
    from tuning.algorithms.trainer import Trainer

BEST = "best"


@dataclass(frozen=True)
class Trained:
    """A policy and its origin."""

    policy: Policy  # maps observations, shape (copies, observations), to actions, shape (copies, actions)
    steps: int  # environment steps that it was trained for
    view: SiteView | BuildingView | None  # see `Acting`
    network: nn.Module  # see `Trainer.mode_network`
    shares: bool  # see `Trainer.shares`; its environment needs `own_layout` then
    changes: ChangedActions | None  # see `Acting`
    task: Task  # that it acts in, with what it sees

    @property
    def on_site(self) -> SiteTask:
        """The task of one that acts on a site."""
        assert isinstance(self.task, SiteTask)
        return self.task


def trial_number(results: Results, trial: str) -> int:
    """Number of the trial that a user names.

    They call it by its number, or `best`. Raises a UsageError if there is no such trial.
    """
    from results.table_files import ResultsError

    if trial == BEST:
        try:
            return int(results.best["trial"])
        except ResultsError as error:
            raise UsageError(str(error)) from None
    if (
        not (trial.isascii() and trial.isdecimal())
        or len(trial) > MOST_DIGITS
        or int(trial) not in set(results.trials["trial"])
    ):
        there = f"they go from 0 to {results.trials['trial'].max()}" if len(results.trials) else "nor any other"
        raise UsageError(f"--trial {trial}: there is no such trial, {there}; it takes {BEST}, or a number")
    return int(trial)


def acting_in(trainer: Trainer, task: Task, split: Split) -> Acting:
    """How a trainer's policy acts in a split of its task, which may simulate other buildings than training.

    Raises an UnfitError if a policy for single buildings does not fit those of the split. Of a policy for the whole site
    `envs.environments.fit.check_one_layout` has checked that it fits.
    """
    if isinstance(task, SiteTask) and trainer.shares and not task.site.same_buildings(split):
        return trainer.acting_on(task.buildings(split))
    return Acting(trainer.policy(), trainer.view, trainer.changes)


def plan_alone_in(trainer: Trainer, task: Task) -> Callable[[SiteEvaluator], Policy] | None:
    """What a trainer's policy would do on the validation split if it changed nothing of its plan; None without a plan.

    What is planned follows the plan. What else acts does what the policy was told to begin with: chargers that it does not
    learn charge as they do beside it, those that it learns as on the uncontrolled site.
    """
    from tuning.algorithms.networks.views import PlannedActions

    policy, view, follow = acting_in(trainer, task, "validation")
    if not isinstance(follow, PlannedActions):
        return None
    is_told = view is not None and view.learns_charging is False

    def beside(evaluator: SiteEvaluator) -> Policy:
        def act(observations: np.ndarray) -> np.ndarray:
            others = policy(observations) if is_told else evaluator.env.present.uncontrolled_actions()
            return np.where(follow.followed, follow.complete(np.zeros_like(others), observations), others)

        return act

    return beside


@contextmanager
def trained(
    experiment: Experiment,
    number: int,
    elsewhere: SiteTask | None = None,
    split: Split = "train",
    keep: Literal["best", "last"] = "best",
) -> Iterator[Trained]:
    """A trial's policy from a checkpoint, on the CPU.

    RLlib needs Ray: one that runs in this process is used, otherwise one is started and ended here. `keep` says which: the
    `best`, by which the trial is rated, or the `last`, of its newest whole checkpoint. It acts in a split of its own site, or
    `elsewhere`. Raises a UsageError if it has no such checkpoint that is undamaged, or cannot act elsewhere.
    """
    checkpoint = _checkpoint(experiment, number, keep)
    records = TrialRecords(experiment)
    row = records.assignment(number)
    settings = experiment.settings
    task = (elsewhere or settings.task).seeing(row)
    other = task if isinstance(task, SiteTask) and elsewhere else None
    if other:
        check_seen(other.site, other.seen)
    with ExitStack() as stack:
        stack.enter_context(ray_session(num_cpus=1))
        trainer = algorithm(settings.algo).build(trial_setup(settings, records.seed(number), row))
        stack.callback(trainer.stop)
        checkpoint.restore(trainer)
        steps, network = checkpoint.trial.steps, trainer.mode_network()
        try:
            acting = trainer.acting_on(other.buildings()) if other else acting_in(trainer, task, split)
        except UnfitError as error:
            raise UsageError(f"the policy of trial {number} cannot act on {task.title}: {error}") from None
        yield Trained(acting.policy, steps, acting.view, network, trainer.shares, acting.changes, task)


def _checkpoint(experiment: Experiment, number: int, keep: Literal["best", "last"]) -> Checkpoint:
    checkpoints, folder = Checkpoints(experiment.paths.checkpoints(number)), experiment.paths.folder
    newest, damage = checkpoints.newest()
    if newest is None:
        why = f": {'; '.join(damage)}" if damage else f", as {_why_none(TrialRecords(experiment).row(number))}"
        raise UsageError(f"trial {number} of {folder} has no checkpoint{why}")
    steps = newest.trial.kept_steps if keep == "best" and newest.trial.kept_steps else newest.trial.steps
    try:
        return checkpoints.policy_at(steps)
    except DamageError as error:
        way_out = "restore it from a copy, or take the last with --keep last"
        raise UsageError(f"the best policy of trial {number} of {folder} cannot be read: {error}; {way_out}") from None


def _why_none(row: Mapping[str, Any]) -> str:
    if (same := row.get("same_as")) is not None:
        return f"it was not trained: it is the same as trial {same}; take that"
    kept = "--keep-checkpoints says which ended trials keep theirs"
    return kept if row["state"] in ("complete", "pruned") else f"it is {row['state']}; take another --trial"


def trial_setup(settings: Settings, seed: int, hyperparameters: Assignment, gpu: bool = False, parts: int = 1) -> Setup:
    """Set-up of the trainer of a trial. `backend` of its settings is not `auto`."""
    if settings.env:
        # Its copies are stepped one after another, or in processes of their own.
        return Setup(hyperparameters, settings.env_task.training_env, settings.num_envs, settings.steps, seed, gpu, parts=parts)
    task = settings.site_task.seeing(hyperparameters)
    layout = task.layout()
    # What is seen, and the plans in it, are those of the user's weights in all trials.
    rewarded = task.rewarding(trained_for(settings, hyperparameters))
    return Setup(
        hyperparameters,
        rewarded.training_env,
        # CityLearn steps one copy after another, so more of them only start more slowly.
        settings.num_envs if settings.stepped_by == "batch" else 1,
        settings.steps,
        seed,
        gpu,
        layout.chargers,
        parts,
        task.district(),
        taught=settings.teacher != "none",
        planned=None if task.seen.plan == "none" else task.buildings(),
        served=task.buildings() if layout.served else None,
    )


def trained_for(settings: Settings, hyperparameters: Assignment) -> Weights:
    """Weights of the reward that a trial trains for: the user's, with the trial's share between two objectives.

    Evaluations have the user's weights, so the scores of all trials are of one reward.
    """
    if (share := settings.reward_share) is None:
        return settings.aim.weights
    return share.weights_at(float(hyperparameters[REWARD_SHARE]))  # type: ignore[arg-type]


def used_share(settings: Settings, weights: Weights | None) -> Assignment:
    """The share of the reward in the weights of an environment; empty where it is no hyperparameter."""
    share = settings.reward_share
    return {} if share is None or weights is None else {REWARD_SHARE: share.share_in(weights)}
