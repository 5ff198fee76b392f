"""The set-up that the trainer of a trial is built from."""

from __future__ import annotations

from envs.objective.weights import Weights
from envs.yardsticks.lessons import Lessons, lessons
from search_spaces import Assignment
from search_spaces.common import REWARD_SHARE
from tuning.algorithms.trainer import Setup
from tuning.experiment.settings import Settings


def trial_setup(settings: Settings, seed: int, hyperparameters: Assignment, gpu: bool = False, parts: int = 1) -> Setup:
    """Set-up of the trainer of a trial.

    Args:
        settings: of its experiment; `backend` is not `auto`.
        seed: of the trial.
        hyperparameters: full assignment.
        gpu: whether the learner uses the GPU.
        parts: see `Setup`.
    """
    task = settings.task.seeing(hyperparameters)
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
        task.layout().chargers,
        parts,
        task.district(),
        taught=settings.teacher != "none",
        planned=None if task.seen.plan == "none" else task.buildings(),
    )


def trained_for(settings: Settings, hyperparameters: Assignment) -> Weights:
    """Weights of the reward that a trial trains for: the user's, with the trial's share between two objectives.

    Evaluations have the user's weights, so the scores of all trials are of one reward.

    Args:
        settings: of its experiment.
        hyperparameters: full assignment.
    """
    if (share := settings.reward_share) is None:
        return settings.aim.weights
    return share.weights_at(float(hyperparameters[REWARD_SHARE]))  # type: ignore[arg-type]


def used_share(settings: Settings, weights: Weights | None) -> Assignment:
    """The share of the reward in the weights of an environment; empty where it is no hyperparameter.

    Args:
        settings: of the experiment.
        weights: that the environment has.
    """
    share = settings.reward_share
    return {} if share is None or weights is None else {REWARD_SHARE: share.share_in(weights)}


def teacher_lessons(settings: Settings) -> Lessons:
    """Lessons of the teacher of a trial, as they were prepared before the search.

    Args:
        settings: of its experiment.
    """
    return lessons(settings.task)
