"""The beginning of a policy as the copy of a teacher: lessons seen as the policy sees them, and regressions on them."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from envs.environments.vector_env import STARTS
from envs.yardsticks.lessons import Lessons
from tuning.algorithms.env_runner import ArrayEnvRunner
from tuning.algorithms.networks.views import own_actions
from tuning.algorithms.preprocessing import RewardNormalizer

EVERY = 5  # one in so many windows is held out
_RUNS_OF_WINDOW = 2
_NEAR = 1e-4
LEAST_BATCH, MOST_BATCH = 32, 512
BATCHES = 64  # of an epoch, where that keeps a batch within these sizes
LEARNING_RATE = 1e-3
EPOCHS = 40  # over which the learning rate falls to nothing
LOG_STD = -2.0  # greatest logarithm of a copy's deviations; SAC's are squashed then
PATIENCE = 8  # epochs without a better loss of the rows that are held out


@dataclass(frozen=True)
class Demonstration:
    """Runs side by side, as an algorithm's environment shows them: N sub-environments over T steps."""

    observations: np.ndarray  # before each step, and after the last one, shape (T + 1, N, features), float32
    executed: np.ndarray  # actions that were carried out, shape (T, N, actions), float32; 0 for a device that there is not
    labels: np.ndarray  # what the teacher would have done, likewise; NaN for a device that there is not
    # Ends of the range of each action at that hour, likewise.
    low: np.ndarray
    high: np.ndarray
    rewards: np.ndarray  # of each step, shape (T, N)
    hours: np.ndarray  # steps of each run, the first ones; what comes after belongs to no run, shape (N,)
    runs: np.ndarray  # number of the lesson that each belongs to, shape (N,)

    @property
    def taken(self) -> np.ndarray:
        """Which steps belong to a run, shape (T, N)."""
        return np.asarray(np.arange(len(self.labels))[:, np.newaxis] < self.hours)


def demonstrations(env: Any, copies: int, lessons: Lessons) -> Iterator[Demonstration]:
    """Carry out lessons in an environment, as many at once as it has copies of the site."""
    agents = env.num_envs // copies
    for first in range(0, len(lessons.starts), copies):
        runs = np.arange(first, min(first + copies, len(lessons.starts)))
        # The others repeat a lesson; what they do is dropped.
        every = np.concatenate([runs, np.full(copies - len(runs), runs[-1])])
        hours = lessons.hours[every]
        observations, _ = env.reset(options={STARTS: [lessons.starts[run] for run in every]})
        kept = slice(0, len(runs) * agents)
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
            np.repeat(hours[: len(runs)], agents), np.repeat(runs, agents),
        )  # fmt: skip


class Demonstrated:
    """Demonstrations as a learner takes them: their steps that belong to runs as rows, on its device."""

    observations: torch.Tensor  # as the policy gets them, shape (rows, features), float32
    labels: torch.Tensor  # shape (rows, actions), float32; 0 where there is no device
    weights: torch.Tensor  # 0 where there is no device, else 1, likewise
    low: torch.Tensor  # whether a label is the least action that there is, likewise, bool
    high: torch.Tensor
    held_out: torch.Tensor  # whether a row decides when a regression stops, shape (rows,)
    ends: list[torch.Tensor]  # of each demonstration, the observations after its runs' last steps, shape (N, features)

    def __init__(self, runner: ArrayEnvRunner, parts: Sequence[Demonstration], device: torch.device) -> None:
        self.parts, self._device, see = parts, device, runner.preprocess()
        known = [np.isfinite(part.labels) for part in parts]
        labels = [np.where(each, part.labels, 0.0).astype(np.float32) for each, part in zip(known, parts, strict=True)]
        windows = [np.broadcast_to(part.runs // _RUNS_OF_WINDOW, part.taken.shape) for part in parts]
        self.observations = self.rows([see(part.observations[:-1]) for part in parts])
        self.labels, self.weights = self.rows(labels), self.rows([each.astype(np.float32) for each in known])
        every = list(zip(known, labels, parts, strict=True))
        self.low = self.rows([is_known & (label <= part.low + _NEAR) for is_known, label, part in every])
        self.high = self.rows([is_known & (label >= part.high - _NEAR) for is_known, label, part in every])
        self.held_out = self.rows([each % EVERY == EVERY // 2 for each in windows])
        lasts = [part.observations[part.hours, np.arange(len(part.hours))] for part in parts]
        self.ends = [torch.as_tensor(see(last), device=device) for last in lasts]
        self._factor = runner.reward_factor

    def rows(self, arrays: Sequence[np.ndarray]) -> torch.Tensor:
        """Rows of an array of each demonstration, shape (T, N, ...)."""
        joined = np.concatenate([array[part.taken] for array, part in zip(arrays, self.parts, strict=True)])
        return torch.as_tensor(joined, device=self._device)

    def returns(self, gamma: float, last: Sequence[np.ndarray] | None = None) -> torch.Tensor:
        """Discounted returns, shape (rows,), float32; they end at values of `ends`, or as if rewards went on as they are."""
        if last is None:
            mean = self._factor * np.concatenate([part.rewards[part.taken] for part in self.parts]).mean()
            last = [np.full(len(part.hours), mean / max(1.0 - gamma, 1e-3)) for part in self.parts]
        pairs = zip(self.parts, last, strict=True)
        discounted = (returns(self._factor * part.rewards, end, part.hours, gamma) for part, end in pairs)
        return self.rows([each.astype(np.float32) for each in discounted])


def returns(rewards: np.ndarray, last: np.ndarray, hours: np.ndarray, gamma: float) -> np.ndarray:
    """Discounted returns of rewards, shape (T, N), of runs of so many steps, from the values after their ends, shape (N,)."""
    discounted = np.zeros(rewards.shape)
    following = last.astype(np.float64)
    for step in reversed(range(len(rewards))):
        following = np.where(step < hours, rewards[step] + gamma * following, following)
        discounted[step] = following
    return discounted


def take_into_statistics(runner: ArrayEnvRunner, parts: Sequence[Demonstration]) -> None:
    """Take a demonstration into a runner's statistics of observations and returns, where it has them."""
    if runner.normalizer is not None:
        for part in parts:
            runner.normalizer.update(part.observations[:-1][part.taken])
    reward_normalizer = runner.reward_normalizer
    if reward_normalizer is None:
        return
    known = reward_normalizer.get_state()
    for part in parts:
        taken = part.taken
        normalizer = RewardNormalizer(taken.shape[1], runner.h["gamma"])
        normalizer.set_state({**known, "returns": np.zeros(taken.shape[1])})
        for hour, acted in enumerate(taken):
            normalizer.update(part.rewards[hour], acted, ~acted)
        known = normalizer.get_state()
    reward_normalizer.set_state({**known, "returns": np.zeros(runner.num_envs)})


def fit(
    parameters: Sequence[torch.nn.Parameter],
    loss: Callable[[torch.Tensor], torch.Tensor],
    is_held_out: torch.Tensor,
    seed: int,
    epochs: int = EPOCHS,
) -> None:
    """Minimise a mean over rows; the best parameters on rows held out are kept. Only random numbers of `seed` are drawn."""
    rows, held_out = (~is_held_out).nonzero()[:, 0], is_held_out.nonzero()[:, 0]
    # Of a site with very few windows none is held out.
    held_out = held_out if len(held_out) else rows
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(parameters, lr=LEARNING_RATE)
    size = min(MOST_BATCH, max(LEAST_BATCH, len(rows) // BATCHES))
    best, kept, since = math.inf, [p.detach().clone() for p in parameters], 0
    for epoch in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * 0.5 * (1.0 + math.cos(math.pi * epoch / epochs))
        order = rows[torch.randperm(len(rows), generator=generator).to(rows.device)]
        for index in order.split(size):
            optimizer.zero_grad(set_to_none=False)
            loss(index).mean().backward()
            optimizer.step()
        mean = mean_loss(loss, held_out)
        since += 1
        if mean < best:
            best, since = mean, 0
            for copy, parameter in zip(kept, parameters, strict=True):
                copy.copy_(parameter.detach())
        if since >= PATIENCE:
            break
    optimizer.zero_grad(set_to_none=False)
    with torch.no_grad():
        for copy, parameter in zip(kept, parameters, strict=True):
            parameter.copy_(copy)


def mean_loss(loss: Callable[[torch.Tensor], torch.Tensor], rows: torch.Tensor) -> float:
    """Mean over rows, by their indices."""
    with torch.no_grad():
        total = sum(float(loss(index).double().sum()) for index in rows.split(8192))
    return total / max(len(rows), 1)


def off_range(off: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """Errors of actions without those beyond the range: what is more than the greatest action is cut to it."""
    return torch.where(low, off.clamp(min=0.0), torch.where(high, off.clamp(max=0.0), off))
