"""Time steps of all sub-environments as arrays, time first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np


@dataclass
class Rows:
    """Time steps as arrays, time first.

    Row `t` holds the observations that the actions of row `t` were drawn for, and what came of these actions. In the row
    after the end of an episode, that sub-environment's action and reward are meaningless.

    Attributes:
        observations: shape `(rows, sub-environments, features)`, float32.
        actions: shape `(rows, sub-environments, actions)`, float32; `(rows, sub-environments)`, int64, if they are discrete.
        action_dist_inputs: parameters of the actions' distributions, shape `(rows, sub-environments, parameters)`, float32.
        action_logp: log-probabilities of the actions, shape `(rows, sub-environments)`, float32.
        rewards: of the environment, shape `(rows, sub-environments)`, float64.
        scaled_rewards: as the learner gets them, shape `(rows, sub-environments)`, float64.
        terminated: shape `(rows, sub-environments)`.
        truncated: shape `(rows, sub-environments)`.
        weights_seq_no: number of the weights that acted, shape `(rows,)`.
        times: when the observations came, by `time.perf_counter`, shape `(rows,)`, seconds.
    """

    observations: np.ndarray
    actions: np.ndarray
    action_dist_inputs: np.ndarray
    action_logp: np.ndarray
    rewards: np.ndarray
    scaled_rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    weights_seq_no: np.ndarray
    times: np.ndarray

    @classmethod
    def empty(cls, count: int, env: Any, inputs: int) -> Rows:
        """Rows without content.

        Args:
            count: of rows.
            env: vectorised environment; its spaces give the shapes.
            inputs: parameters of a distribution of actions.
        """
        shape = (count, env.num_envs)
        return cls(
            observations=np.empty((*shape, *env.single_observation_space.shape), np.float32),
            actions=np.empty((*shape, *env.single_action_space.shape), env.single_action_space.dtype),
            action_dist_inputs=np.empty((*shape, inputs), np.float32),
            action_logp=np.empty(shape, np.float32),
            rewards=np.empty(shape),
            scaled_rewards=np.empty(shape),
            terminated=np.empty(shape, bool),
            truncated=np.empty(shape, bool),
            weights_seq_no=np.empty(count, int),
            times=np.empty(count),
        )

    def extended(self, count: int) -> Rows:
        """Copy with as many more rows, without content.

        A new array for each call: the episodes of the last call may still be in use. Rows that are never written take no
        memory.
        """
        return Rows(**{name: _extended(array, count) for name, array in self.arrays()})

    def last(self, row: int, count: int) -> Rows:
        """Copy of a row and of those before it.

        Args:
            row: the last one.
            count: how many before it.
        """
        return Rows(**{name: array[row - count : row + 1].copy() for name, array in self.arrays()})

    def arrays(self) -> Iterator[tuple[str, np.ndarray]]:
        """Each array with its name."""
        for item in fields(self):
            yield item.name, getattr(self, item.name)


def _extended(array: np.ndarray, count: int) -> np.ndarray:
    """Copy of an array with more rows; their content is undefined."""
    longer = np.empty((len(array) + count, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
