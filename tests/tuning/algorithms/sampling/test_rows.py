"""Time steps as arrays: new ones for each call, with what is needed of the last call."""

from types import SimpleNamespace

import gymnasium as gym
import numpy as np

from tuning.algorithms.sampling.rows import Rows

ENV = SimpleNamespace(
    num_envs=2, single_observation_space=gym.spaces.Box(-1.0, 1.0, (3,)), single_action_space=gym.spaces.Box(-1.0, 1.0, (1,))
)


def filled(count: int) -> Rows:
    rows = Rows.empty(count, ENV, inputs=2)
    for _, array in rows.arrays():
        array[:] = np.arange(count).reshape(-1, *[1] * (array.ndim - 1))
    return rows


def test_shapes_and_types_are_those_of_the_environment() -> None:
    rows = Rows.empty(4, ENV, inputs=2)
    assert {name: array.shape for name, array in rows.arrays()} == {
        "observations": (4, 2, 3), "actions": (4, 2, 1), "action_dist_inputs": (4, 2, 2), "action_logp": (4, 2),
        "rewards": (4, 2), "scaled_rewards": (4, 2), "terminated": (4, 2), "truncated": (4, 2), "weights_seq_no": (4,),
        "times": (4,),
    }  # fmt: skip
    assert rows.observations.dtype == np.float32
    assert rows.rewards.dtype == np.float64
    discrete = SimpleNamespace(num_envs=2, single_observation_space=ENV.single_observation_space,
                               single_action_space=gym.spaces.Discrete(3))  # fmt: skip
    assert Rows.empty(4, discrete, inputs=3).actions.shape == (4, 2)


def test_more_rows_begin_with_the_old_ones_in_memory_of_their_own() -> None:
    rows = filled(3)
    longer = rows.extended(5)
    for name, array in longer.arrays():
        assert len(array) == 8
        np.testing.assert_array_equal(array[:3], getattr(rows, name))
    longer.rewards[0] = 99.0
    assert rows.rewards[0, 0] == 0.0


def test_the_last_rows_are_copied() -> None:
    rows = filled(6)
    last = rows.last(4, 2)
    assert last.times.tolist() == [2.0, 3.0, 4.0]
    rows.times[:] = -1.0
    assert last.times.tolist() == [2.0, 3.0, 4.0]
