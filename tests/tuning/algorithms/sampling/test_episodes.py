"""Rows of time steps, and episodes that are cut from them."""

from types import SimpleNamespace

import gymnasium as gym
import numpy as np

from tuning.algorithms.sampling.episodes import Episodes, Rows

THREE = SimpleNamespace(
    num_envs=2, single_observation_space=gym.spaces.Box(-1.0, 1.0, (3,)), single_action_space=gym.spaces.Box(-1.0, 1.0, (1,))
)


def filled(count: int) -> Rows:
    rows = Rows.empty(count, THREE, inputs=2)
    for _, array in rows.arrays():
        array[:] = np.arange(count).reshape(-1, *[1] * (array.ndim - 1))
    return rows


def test_shapes_and_types_are_those_of_the_environment() -> None:
    rows = Rows.empty(4, THREE, inputs=2)
    assert {name: array.shape for name, array in rows.arrays()} == {
        "observations": (4, 2, 3), "actions": (4, 2, 1), "action_dist_inputs": (4, 2, 2), "action_logp": (4, 2),
        "rewards": (4, 2), "scaled_rewards": (4, 2), "terminated": (4, 2), "truncated": (4, 2), "weights_seq_no": (4,),
        "times": (4,),
    }  # fmt: skip
    assert rows.observations.dtype == np.float32
    assert rows.rewards.dtype == np.float64
    discrete = SimpleNamespace(num_envs=2, single_observation_space=THREE.single_observation_space,
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


ENV = SimpleNamespace(
    num_envs=2, single_observation_space=gym.spaces.Box(-99.0, 99.0, (1,)), single_action_space=gym.spaces.Box(-1.0, 1.0, (1,))
)
LOOKBACK = 1


def rows(count: int) -> Rows:
    """Time steps without an end; observation and reward are the row's number."""
    found = Rows.empty(LOOKBACK + count + 1, ENV, inputs=2)
    for _, array in found.arrays():
        array[:] = np.arange(len(found.times)).reshape(-1, *[1] * (array.ndim - 1))
    found.terminated[:], found.truncated[:] = False, False
    return found


def begun() -> Episodes:
    episodes = Episodes(LOOKBACK)
    episodes.begin(2)
    return episodes


def test_without_an_end_there_is_a_chunk_of_each_sub_environment() -> None:
    chunks = list(begun().cut(ENV, rows(4), [1, 1], 5))
    assert [len(chunk) for chunk in chunks] == [4, 4]
    assert not any(chunk.is_done for chunk in chunks)
    assert chunks[0].get_observations().flatten().tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert chunks[0].get_rewards().tolist() == [1.0, 2.0, 3.0, 4.0]


def test_the_step_after_an_end_is_a_reset_and_no_transition() -> None:
    steps = rows(5)
    steps.terminated[2, 0] = steps.truncated[3, 1] = True
    episodes = begun()
    cut = list(episodes.cut(ENV, steps, [1, 1], 6))
    # Those that ended, in the order in which they did, then those that go on.
    assert [(len(each), each.is_terminated, each.is_truncated) for each in cut] == [
        (2, True, False), (3, False, True), (2, False, False), (1, False, False),
    ]  # fmt: skip
    assert cut[2].get_observations().flatten().tolist() == [4.0, 5.0, 6.0]
    ended = episodes.take_ended()
    assert [(each.steps, each.reward, each.seconds) for each in ended] == [(2, 3.0, 2.0), (3, 6.0, 3.0)]
    assert episodes.take_ended() == []


def test_a_chunk_goes_on_with_its_name_and_looks_back() -> None:
    episodes = begun()
    first = list(episodes.cut(ENV, rows(4), [1, 1], 5))
    second = list(episodes.cut(ENV, rows(4), [1, 1], 5))
    assert [chunk.id_ for chunk in first] == [chunk.id_ for chunk in second]
    assert [chunk.t_started for chunk in second] == [4, 4]
    assert [chunk.observations.lookback for chunk in first + second] == [0, 0, 1, 1]


def test_episodes_go_on_from_a_state_of_plain_values() -> None:
    episodes = begun()
    list(episodes.cut(ENV, rows(4), [1, 1], 5))
    state = episodes.get_state()
    assert all(type(values) is tuple for values in state)
    other = Episodes(LOOKBACK)
    other.set_state(state)
    assert other.get_state() == state
    assert next(iter(other.cut(ENV, rows(4), [1, 1], 5))).t_started == 4
