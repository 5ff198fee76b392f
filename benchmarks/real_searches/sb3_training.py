"""A training by Stable-Baselines3's PPO on a site, with evaluations by ours."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from torch import nn

from benchmarks.real_searches.ours import EPISODES
from benchmarks.real_searches.same_step import same_step_env
from benchmarks.real_searches.sb3_env import BatchVecEnv
from benchmarks.real_searches.sites import environment_of
from benchmarks.real_searches.zoo import ppo_arguments
from envs.gym.episodes import Episodes, seeds_of
from envs.gym.source import Source
from envs.objective.evaluate import EvaluationEnv, Policy, evaluate, score
from envs.scenarios.scenario import Split, sample_weeks
from envs.task import SiteTask
from tuning.trial.evaluations import due_steps

COPIES = 8  # so that rollouts have 256 to 16,384 transitions, as ours have 512 to 16,384
_ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU}


@dataclass(frozen=True)
class Evaluated:
    """An evaluation within a training.

    Attributes:
        number: from 1.
        steps: environment steps before it.
        score: mean reward an hour on the validation split.
    """

    number: int
    steps: int
    score: float


def model_of(scenario_name: str, drawn: dict[str, Any], seed: int) -> PPO:
    """PPO with the hyperparameters that were drawn; all else has the library's defaults.

    Args:
        scenario_name: of the site.
        drawn: by `benchmarks.real_searches.zoo.sampled`.
        seed: of networks, actions and environment.
    """
    arguments = ppo_arguments(drawn)
    policy = arguments.pop("policy_kwargs")
    policy = policy | {"activation_fn": _ACTIVATIONS[policy["activation_fn"]]}
    if env_name := environment_of(scenario_name):
        # As the zoo trains on most of them: observations and rewards by their running deviation.
        env: Any = VecNormalize(DummyVecEnv([lambda: Monitor(Source(env_name).make())] * COPIES), gamma=arguments["gamma"])
    else:
        env = BatchVecEnv(same_step_env(scenario_name, COPIES))
    return PPO("MlpPolicy", env, **arguments, policy_kwargs=policy, seed=seed, device="cpu")


def policy_of(model: PPO) -> Policy:
    """The deterministic policy, as evaluations take it."""

    def act(observations: np.ndarray) -> np.ndarray:
        actions, _ = model.policy.predict(observations, deterministic=True)
        return np.asarray(actions)

    return act


def rated(model: PPO, env: EvaluationEnv | Episodes) -> float:
    """Score of a model's deterministic policy, as ours computes it."""
    if isinstance(env, Episodes):
        scales = model.get_env()
        assert isinstance(scales, VecNormalize)
        policy = policy_of(model)
        rows = env.rows(lambda observations: policy(scales.normalize_obs(observations)))
        return float(np.mean([row["score"] for row in rows]))
    return score(evaluate(env, policy_of(model)))


def rating_env(scenario_name: str, split: Split, weeks: int, episodes: int = EPISODES) -> EvaluationEnv | Episodes:
    """What rates policies; see `SiteTask.evaluation_env`, and `EnvTask.evaluator`."""
    if env_name := environment_of(scenario_name):
        return Episodes(Source(env_name).make, seeds_of("test" if split == "test" else "validation", episodes))
    task = SiteTask(scenario_name)
    return task.evaluation_env(sample_weeks(task.site.windows(split), weeks))


class Evaluations(BaseCallback):
    """Evaluates at evenly spaced steps.

    Args:
        env: that rates.
        steps: of a whole training.
        evaluations: evaluations of it.
        on_evaluated: takes each, and says whether the training goes on.
        is_over: whether the time is over.
    """

    def __init__(
        self,
        env: EvaluationEnv | Episodes,
        steps: int,
        evaluations: int,
        on_evaluated: Callable[[Evaluated], bool],
        is_over: Callable[[], bool],
    ) -> None:
        super().__init__()
        self._env, self._steps, self._evaluations = env, steps, evaluations
        self._on_evaluated, self._is_over, self._done = on_evaluated, is_over, 0

    def _on_step(self) -> bool:
        if self._is_over():
            return False
        if self.num_timesteps < due_steps(self._done + 1, self._steps, self._evaluations):
            return True
        self._done += 1
        assert isinstance(self.model, PPO)
        goes_on = self._on_evaluated(Evaluated(self._done, self.num_timesteps, rated(self.model, self._env)))
        return goes_on and self._done < self._evaluations


class UpTo(BaseCallback):
    """Ends a training at an exact number of steps, between two updates too.

    Args:
        steps: environment steps.
    """

    def __init__(self, steps: int) -> None:
        super().__init__()
        self._steps = steps

    def _on_step(self) -> bool:
        return self.num_timesteps < self._steps


def trained(scenario_name: str, drawn: dict[str, Any], seed: int, steps: int, *callbacks: BaseCallback) -> PPO:
    """A model that learned for so many steps, as one in a search had when it was evaluated after them.

    Args:
        scenario_name: of the site.
        drawn: see `model_of`.
        seed: see `model_of`.
        steps: at an evaluation of the search.
        callbacks: of the training.
    """
    model = model_of(scenario_name, drawn, seed)
    model.learn(steps, callback=[*callbacks, UpTo(steps)])
    return model
