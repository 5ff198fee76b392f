"""Time steps of all sub-environments as arrays, and RLlib's episodes as slices of them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from ray.rllib.core.columns import Columns
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.utils.metrics import WEIGHTS_SEQ_NO


@dataclass
class Rows:
    """Time steps as arrays, time first.

    Row `t` holds the observations that the actions of row `t` were drawn for, and what came of these actions. In the row
    after the end of an episode, that sub-environment's action and reward are meaningless.

    Attributes:
        actions: shape `(rows, sub-environments, actions)`, float32; `(rows, sub-environments)`, int64, if they are discrete.
        action_dist_inputs: parameters of the actions' distributions, shape `(rows, sub-environments, parameters)`, float32.
    """

    observations: np.ndarray  # shape `(rows, sub-environments, features)`, float32
    actions: np.ndarray
    action_dist_inputs: np.ndarray
    action_logp: np.ndarray  # log-probabilities of the actions, shape `(rows, sub-environments)`, float32
    rewards: np.ndarray  # of the environment, shape `(rows, sub-environments)`, float64
    scaled_rewards: np.ndarray  # as the learner gets them, shape `(rows, sub-environments)`, float64
    terminated: np.ndarray  # shape `(rows, sub-environments)`
    truncated: np.ndarray  # shape `(rows, sub-environments)`
    weights_seq_no: np.ndarray  # number of the weights that acted, shape `(rows,)`
    times: np.ndarray  # when the observations came, by `time.perf_counter`, shape `(rows,)`, seconds

    @classmethod
    def empty(cls, count: int, env: Any, inputs: int) -> Rows:
        """Rows without content."""
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
        """Copy of a row and of those before it."""
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


@dataclass
class EpisodeSoFar:
    """What is known of an episode beside its arrays."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    steps: int = 0
    reward: float = 0.0
    seconds: float = 0.0


class Episodes:
    """The episodes that sub-environments are in, and those that ended; cuts rows into RLlib's episodes and chunks of them."""

    def __init__(self, lookback: int) -> None:
        self._lookback = lookback
        self._ongoing: list[EpisodeSoFar] = []
        self._ended: list[EpisodeSoFar] = []

    def begin(self, count: int) -> None:
        """Begin an episode in each of `count` sub-environments."""
        self._ongoing = [EpisodeSoFar() for _ in range(count)]

    def take_ended(self) -> list[EpisodeSoFar]:
        """Episodes that ended since the last call."""
        ended, self._ended = self._ended, []
        return ended

    def get_state(self) -> list[tuple[Any, ...]]:
        """Episodes that are going on, as plain values."""
        return [(episode.id, episode.steps, episode.reward, episode.seconds) for episode in self._ongoing]

    def set_state(self, state: Iterable[tuple[Any, ...]]) -> None:
        """Go on with the episodes of a state of `get_state`."""
        self._ongoing = [EpisodeSoFar(*values) for values in state]

    def cut(self, env: Any, rows: Rows, starts: list[int], stop: int) -> Iterator[SingleAgentEpisode]:
        """Cut rows into episodes and chunks of episodes.

        Yields:
            Episodes that ended, in the order in which they did, then the chunks of those that go on.
        """
        ended = rows.terminated[self._lookback : stop] | rows.truncated[self._lookback : stop]
        for row, index in np.argwhere(ended).tolist():
            end = self._lookback + row + 1
            yield self._chunk(env, rows, index, starts[index], end)
            self._ended.append(self._ongoing[index])
            self._ongoing[index] = EpisodeSoFar()
            # The row between is the reset.
            starts[index] = end + 1
        for index, start in enumerate(starts):
            # After an end or a reset in the last step, there is no transition of a new episode yet.
            if start < stop:
                yield self._chunk(env, rows, index, start, stop)

    def _chunk(self, env: Any, rows: Rows, index: int, start: int, stop: int) -> SingleAgentEpisode:
        """The chunk of an episode between two rows, in RLlib's form; what of it lies before is its lookback."""
        ongoing = self._ongoing[index]
        lookback = min(self._lookback, ongoing.steps)
        taken = slice(start - lookback, stop)
        # RLlib takes arrays as well as lists, but declares only lists.
        new: Any = SingleAgentEpisode
        episode: SingleAgentEpisode = new(
            ongoing.id,
            observations=rows.observations[start - lookback : stop + 1, index],
            observation_space=env.single_observation_space,
            infos=[{}] * (stop + 1 - start + lookback),
            actions=rows.actions[taken, index],
            action_space=env.single_action_space,
            rewards=rows.scaled_rewards[taken, index],
            terminated=bool(rows.terminated[stop - 1, index]),
            truncated=bool(rows.truncated[stop - 1, index]),
            extra_model_outputs={
                Columns.ACTION_DIST_INPUTS: rows.action_dist_inputs[taken, index],
                Columns.ACTION_LOGP: rows.action_logp[taken, index],
                WEIGHTS_SEQ_NO: rows.weights_seq_no[taken],
            },
            t_started=ongoing.steps,
            len_lookback_buffer=lookback,
        )
        ongoing.steps += stop - start
        ongoing.reward += float(rows.rewards[start:stop, index].sum())
        ongoing.seconds += float(rows.times[stop] - rows.times[start])
        return episode
