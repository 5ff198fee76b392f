"""Policies of trials, as their checkpoints hold them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from envs.environments.factory import training_env
from envs.environments.year_cache import observation_layout
from envs.objective.episodes import Policy
from envs.scenarios.scenario import scenario as find_scenario
from search_spaces import Assignment
from tuning.algorithms.registry import algorithm
from tuning.algorithms.trainer import Setup
from tuning.experiment.errors import UsageError
from tuning.experiment.folder import Experiment
from tuning.experiment.settings import Settings
from tuning.runtime.ray_session import ray_session
from tuning.trial.checkpoint import Checkpoints
from tuning.trial.records import TrialRecords, trial_seed

if TYPE_CHECKING:
    from torch import nn

    from results import Results
    from tuning.algorithms.networks.site_view import SiteView

BEST = "best"


def trial_setup(settings: Settings, number: int, hyperparameters: Assignment, gpu: bool = False, parts: int = 1) -> Setup:
    """What a trial's trainer is built from.

    Args:
        settings: of its experiment, with the backend settled.
        number: of the trial.
        hyperparameters: full assignment.
        gpu: whether the learner uses the GPU.
        parts: see `Setup`.
    """
    scenario, reward, backend = settings.scenario, settings.reward, settings.stepped_by
    return Setup(
        hyperparameters,
        # Nothing of a trial in it: RLlib stores it.
        lambda copies: training_env(scenario, backend, copies, reward),
        # CityLearn steps one copy after another, so more of them only start more slowly.
        settings.num_envs if backend == "batch" else 1,
        settings.steps,
        trial_seed(settings.seed, number),
        gpu,
        observation_layout(find_scenario(scenario)).chargers,
        parts,
    )


@dataclass(frozen=True)
class Trained:
    """A policy with where it comes from.

    Attributes:
        policy: maps observations, shape (copies, observations), to actions, shape (copies, actions).
        trial: number of its trial.
        steps: environment steps that it was trained for.
        view: see `Trainer.view`.
        network: see `Trainer.mode_network`.
    """

    policy: Policy
    trial: int
    steps: int
    view: SiteView | None
    network: nn.Module


def trial_number(results: Results, trial: str) -> int:
    """Number of a trial that a command line names.

    Args:
        results: of the experiment.
        trial: a number, or `best`.

    Raises:
        UsageError: if there is no such trial.
    """
    from results.loader import ResultsError

    if trial == BEST:
        try:
            return int(results.best["trial"])
        except ResultsError as error:
            raise UsageError(str(error)) from None
    if not trial.isdecimal() or int(trial) not in set(results.trials["trial"]):
        last = int(results.trials["trial"].max()) if len(results.trials) else -1
        raise UsageError(f"--trial {trial}: it takes {BEST}, or a number from 0 to {last}")
    return int(trial)


@contextmanager
def trained(experiment: Experiment, number: int) -> Iterator[Trained]:
    """A trial's policy from its newest whole checkpoint, on the CPU.

    RLlib needs Ray: that of this process, or one that is started and ended here.

    Args:
        experiment: that it belongs to.
        number: of the trial.

    Raises:
        UsageError: if it has no checkpoint any more.
    """
    checkpoint, damage = Checkpoints(experiment.paths.checkpoints(number)).newest()
    if checkpoint is None:
        why = f": {'; '.join(damage)}" if damage else ", as --keep-checkpoints says which ended trials keep theirs"
        raise UsageError(f"trial {number} of {experiment.paths.folder} has no checkpoint{why}")
    row = TrialRecords(experiment).assignment(number)
    with ExitStack() as stack:
        import ray

        if not ray.is_initialized():
            stack.enter_context(ray_session(num_cpus=1))
        trainer = algorithm(experiment.settings.algo).build(trial_setup(experiment.settings, number, row))
        stack.callback(trainer.stop)
        checkpoint.restore(trainer)
        yield Trained(trainer.policy(), number, checkpoint.trial.steps, trainer.view, trainer.mode_network())
