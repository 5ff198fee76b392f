"""A teacher's lessons as a trial's own policy would have seen them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from envs.environments.vector_env import STARTS
from envs.yardsticks.lessons import Lessons
from tuning.algorithms.networks.site_view import own_actions
from tuning.algorithms.sampling.preprocessing import RewardNormalizer

if TYPE_CHECKING:
    from tuning.algorithms.sampling.env_runner import BatchEnvRunner


@dataclass(frozen=True)
class Demonstration:
    """Runs side by side, as an algorithm's environment shows them: N sub-environments over T steps.

    Attributes:
        low, high: ends of the range of each action at that hour, likewise.
    """

    observations: np.ndarray  # before each step, and after the last one, shape (T + 1, N, features), float32
    executed: np.ndarray  # actions that were carried out, shape (T, N, actions), float32; 0 for a device that there is not
    labels: np.ndarray  # what the teacher would have done, likewise; NaN for a device that there is not
    low: np.ndarray
    high: np.ndarray
    rewards: np.ndarray  # of each step, shape (T, N)
    hours: np.ndarray  # steps of each run, the first ones; what comes after belongs to no run, shape (N,)
    runs: np.ndarray  # number of the lesson that each belongs to, shape (N,)

    @property
    def taken(self) -> np.ndarray:
        """Which steps belong to a run, shape (T, N)."""
        return np.asarray(np.arange(len(self.labels))[:, np.newaxis] < self.hours)

    @property
    def nbytes(self) -> int:
        """Memory of the arrays, bytes."""
        return sum(array.nbytes for array in vars(self).values())


def demonstrations(env: Any, copies: int, lessons: Lessons) -> Iterator[Demonstration]:
    """Carry out lessons in an environment, as many at once as it has copies of the site."""
    agents = env.num_envs // copies
    for first in range(0, len(lessons.starts), copies):
        own = np.arange(first, min(first + copies, len(lessons.starts)))
        # The others repeat a lesson; what they do is dropped.
        every = np.concatenate([own, np.full(copies - len(own), own[-1])])
        hours = lessons.hours[every]
        observations, _ = env.reset(options={STARTS: [lessons.starts[run] for run in every]})
        kept = slice(0, len(own) * agents)
        seen, actions, rewards = [observations[kept].copy()], [], []
        for hour in range(hours.max()):
            executed, labels = lessons.executed[every, hour], lessons.labels[every, hour]
            ends = np.ones_like(labels)
            given = [own_actions(env, each) for each in (executed, labels, -ends, ends)]
            given[0] = np.nan_to_num(given[0], nan=0.0)
            observations, earned, *_ = env.step(given[0])
            seen.append(observations[kept].copy())
            actions.append([each[kept] for each in given])
            rewards.append(np.array(earned[kept], dtype=np.float64))
        executed, labels, low, high = (np.array(each, dtype=np.float32) for each in zip(*actions, strict=True))
        yield Demonstration(
            np.array(seen, dtype=np.float32), executed, labels, low, high, np.array(rewards),
            np.repeat(hours[: len(own)], agents), np.repeat(own, agents),
        )  # fmt: skip


@dataclass(frozen=True)
class Rows:
    """Steps of demonstrations as rows, with what is the same for all algorithms.

    Attributes:
        low, high: whether a label is the least or the greatest action that there is, likewise, bool.
    """

    observations: np.ndarray  # as the policy gets them, shape (rows, features), float32
    labels: np.ndarray  # shape (rows, actions), float32; 0 where there is no device
    weights: np.ndarray  # 0 where there is no device, else 1, likewise
    low: np.ndarray
    high: np.ndarray
    held_out: np.ndarray  # whether a row decides when a regression stops, shape (rows,)


EVERY = 5  # of so many windows, one is held out
_RUNS_OF_WINDOW = 2
_NEAR = 1e-4


def rows_of(parts: list[Demonstration], observations: list[np.ndarray]) -> Rows:
    """All steps that belong to runs.

    Args:
        parts: of the demonstration.
        observations: of the steps of each, as the policy gets them, shape (T, N, features).
    """
    columns: list[list[np.ndarray]] = [[] for _ in range(6)]
    for part, seen in zip(parts, observations, strict=True):
        taken = part.taken
        known = np.isfinite(part.labels)
        labels = np.where(known, part.labels, 0.0).astype(np.float32)
        windows = np.broadcast_to(part.runs // _RUNS_OF_WINDOW, taken.shape)
        found = (
            seen, labels, known.astype(np.float32), known & (labels <= part.low + _NEAR), known & (labels >= part.high - _NEAR),
            windows % EVERY == EVERY // 2,
        )  # fmt: skip
        for column, values in zip(columns, found, strict=True):
            column.append(values[taken])
    return Rows(*(np.concatenate(column) for column in columns))


def returns(rewards: np.ndarray, last: np.ndarray, hours: np.ndarray, gamma: float) -> np.ndarray:
    """Discounted returns of runs.

    Args:
        rewards: shape (T, N).
        last: value of the observation after each run's last step, shape (N,).
        hours: steps of each run, shape (N,).
        gamma: discount.
    """
    found = np.zeros(rewards.shape)
    following = last.astype(np.float64)
    for step in reversed(range(len(rewards))):
        following = np.where(step < hours, rewards[step] + gamma * following, following)
        found[step] = following
    return found


def take_into_statistics(runner: BatchEnvRunner, parts: list[Demonstration]) -> None:
    """Take a demonstration into a runner's statistics of observations and returns, where it has them."""
    if runner.normalizer is not None:
        for part in parts:
            runner.normalizer.update(part.observations[:-1][part.taken])
    own = runner.reward_normalizer
    if own is None:
        return
    known = own.get_state()
    for part in parts:
        taken = part.taken
        normalizer = RewardNormalizer(taken.shape[1], runner.preprocessing.gamma)
        normalizer.set_state({**known, "returns": np.zeros(taken.shape[1])})
        for hour, acted in enumerate(taken):
            normalizer.update(part.rewards[hour], acted, ~acted)
        known = normalizer.get_state()
    own.set_state({**known, "returns": np.zeros(runner.num_envs)})


def reward_factor(runner: BatchEnvRunner) -> float:
    """Factor of the rewards as the learner gets them now."""
    deviation = 1.0 if runner.reward_normalizer is None else runner.reward_normalizer.std
    return runner.preprocessing.reward_scale / deviation
