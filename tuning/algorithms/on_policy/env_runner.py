"""Collects rollouts for PPO and A2C."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.distribution.torch.torch_distribution import TorchDiagGaussian

from tuning.algorithms.env_runner import ArrayEnvRunner


@dataclass(frozen=True)
class Rollout:
    """T transitions of C chunks of episodes, one after another: those that ended, in that order, then those that go on."""

    observations: np.ndarray  # as the policy saw them, shape (T, features), float32
    actions: np.ndarray  # shape (T, actions), float32; (T,), int64, of a choice; (T, choices) of several
    inputs: np.ndarray  # parameters of the distributions that they were drawn from, shape (T, parameters), float32
    rewards: np.ndarray  # as the learner gets them, shape (T,), float64
    following: np.ndarray  # observation after each chunk, shape (C, features)
    terminated: np.ndarray  # whether a chunk's episode was, shape (C,)
    ends: np.ndarray  # index after each chunk's last transition, rising, shape (C,)


class _Rows:
    """Time steps as arrays, time first. A row holds observations, the actions drawn for them, and what came of these.

    Rows that are never written take no memory. In the row after the end of an episode, action and reward are meaningless.
    """

    def __init__(self, count: int, env: Any, inputs: int) -> None:
        shape = (count, env.num_envs)
        self.observations = np.empty((*shape, *env.single_observation_space.shape), np.float32)
        self.actions = np.empty((*shape, *env.single_action_space.shape), env.single_action_space.dtype)
        self.inputs = np.empty((*shape, inputs), np.float32)
        self.rewards, self.scaled_rewards = np.empty(shape), np.empty(shape)
        self.terminated, self.ended = np.empty(shape, bool), np.empty(shape, bool)


class RolloutRunner(ArrayEnvRunner):
    """Draws actions by networks of its own on the CPU, which the algorithm gives the learner's weights after each update.

    An observation is normalised once, by the statistics of everything up to it. So the policy, the learner and the value at a
    rollout's end see the same numbers.
    """

    _observations: np.ndarray  # that no action has followed yet, as the policy sees them

    def begin(self, observations: np.ndarray) -> None:
        """See `ArrayEnvRunner`."""
        self._observations = self.preprocess()(observations)

    def collect(self, transitions: int) -> Rollout:
        """Collect at least so many transitions, and less than one of each sub-environment more."""
        self.reset()
        distribution = self.module.get_exploration_action_dist_cls()
        # An episode of one step costs another step for its reset: at worst every other row holds transitions.
        count = 2 * -(-transitions // self.num_envs) + 2
        rows = _Rows(count, self.env, distribution.required_input_dim(self.env.single_action_space))
        # Where an episode ended in the last step before, the first row is a reset.
        starts, row, before = self._ended.astype(int).tolist(), 0, self._transitions
        rows.observations[0] = self._observations
        self.module.eval()
        while self._transitions - before < transitions:
            self._act(rows, row, distribution)
            observations, rows.rewards[row], _, rows.terminated[row], truncated = self.step(rows.actions[row])
            rows.ended[row] = rows.terminated[row] | truncated
            np.multiply(rows.rewards[row], self.reward_factor, out=rows.scaled_rewards[row])
            row += 1
            self.preprocess()(observations, out=rows.observations[row])
        self._observations = rows.observations[row].copy()
        return self._joined(rows, list(self._chunks(rows, starts, row)))

    def _act(self, rows: _Rows, row: int, distribution: Any) -> None:
        """Draw actions for a row and write them into it; on the CPU, so that a seed gives the same ones on any device."""
        with torch.inference_mode():
            observations = torch.from_numpy(rows.observations[row]).to(self._device)
            if self.module.written_out:
                inputs, means = rows.inputs[row], self.module.written_out[0](observations).numpy()
                deviations = self.module.log_std.numpy()
                inputs[:, : len(deviations)], inputs[:, len(deviations) :] = means, deviations
                rows.actions[row] = means + np.exp(deviations) * torch.randn(means.shape).numpy()
                return
            # Not `forward_exploration`, which goes through all layers twice to switch them to evaluation and back.
            inputs = self.module._forward({Columns.OBS: observations})[Columns.ACTION_DIST_INPUTS].cpu()
            if distribution is TorchDiagGaussian:
                mean, log_std = inputs.chunk(2, dim=-1)
                # What TorchDiagGaussian comes to, in a third of the time at a few actions: `torch.normal` looks through the
                # deviations for negative ones first.
                actions = torch.randn(mean.shape).numpy()
                actions *= log_std.exp().numpy()
                actions += mean.numpy()
            else:
                actions = distribution.from_logits(inputs).sample().numpy()
        rows.inputs[row], rows.actions[row] = inputs.numpy(), actions

    def _chunks(self, rows: _Rows, starts: list[int], stop: int) -> Iterator[tuple[int, int, int]]:
        """Chunks of episodes, in the order of a `Rollout`: sub-environment, first row, row after the last."""
        for row, index in np.argwhere(rows.ended[:stop]).tolist():
            yield index, starts[index], row + 1
            self._returns[index] += rows.rewards[starts[index] : row + 1, index].sum()
            self.end(index)
            # The row between is the reset.
            starts[index] = row + 2
        for index, start in enumerate(starts):
            # After an end or a reset in the last step, there is no transition of a new episode yet.
            if start < stop:
                yield index, start, stop
                self._returns[index] += rows.rewards[start:stop, index].sum()

    def _joined(self, rows: _Rows, chunks: list[tuple[int, int, int]]) -> Rollout:
        def joined(array: np.ndarray) -> np.ndarray:
            return np.concatenate([array[start:stop, index] for index, start, stop in chunks])

        return Rollout(
            observations=joined(rows.observations),
            actions=joined(rows.actions),
            inputs=joined(rows.inputs),
            rewards=joined(rows.scaled_rewards),
            following=np.stack([rows.observations[stop, index] for index, _, stop in chunks]),
            terminated=np.array([rows.terminated[stop - 1, index] for index, _, stop in chunks]),
            ends=np.cumsum([stop - start for _, start, stop in chunks]),
        )

    def get_sampling(self) -> dict[str, Any]:
        """See `ArrayEnvRunner`."""
        return {"observations": self._observations.copy()}

    def set_sampling(self, state: dict[str, Any]) -> None:
        """See `ArrayEnvRunner`."""
        self._observations = state["observations"].copy()
