"""Whatever an environment shows and takes becomes what networks see and give, or is refused at once."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from envs.gym.source import EnvError, Source
from envs.gym.spaces import kind_of, learnable, made


class Echo(gym.Env[Any, Any]):
    """Shows a sample of its observations, and keeps what it was told to do."""

    def __init__(self, observations: spaces.Space[Any], actions: spaces.Space[Any]) -> None:
        self.observation_space, self.action_space = observations, actions
        self.told: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        self.shown = self.observation_space.sample()
        return self.shown, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.told = action
        assert action in self.action_space
        return self.shown, 0.0, False, False, {}


LINE, UNIT = spaces.Box(-5.0, 5.0, (3,), np.float64), spaces.Box(-1.0, 1.0, (1,))
PARTS = spaces.Dict({"b": spaces.Discrete(4, start=2), "a": spaces.Tuple((LINE, spaces.MultiDiscrete([2, 3])))})


@pytest.mark.parametrize(
    ("space", "features"),
    [(LINE, 3), (spaces.Discrete(4), 4), (spaces.MultiDiscrete([2, 3]), 5), (spaces.MultiBinary(3), 3), (PARTS, 12)],
)
def test_observations_become_one_vector(space: spaces.Space[Any], features: int) -> None:
    given = Echo(space, UNIT)
    env = learnable(given)
    shown, _ = env.reset(seed=1)
    assert (shown.shape, shown.dtype) == ((features,), np.float32)
    assert env.observation_space.shape == (features,)
    np.testing.assert_array_equal(shown, spaces.flatten(space, given.shown).astype(np.float32))


@pytest.mark.parametrize(
    "space", [spaces.Box(0, 255, (8, 8, 3), np.uint8), spaces.Text(5), spaces.Dict({"picture": spaces.Box(0.0, 1.0, (4, 4))})]
)
def test_pictures_and_texts_are_refused_with_what_would_do(space: spaces.Space[Any]) -> None:
    with pytest.raises(EnvError, match="no vector of numbers"):
        learnable(Echo(space, UNIT))


def test_a_bounded_box_is_acted_on_from_minus_one_to_one_and_cut_there() -> None:
    given = Echo(LINE, spaces.Box(np.array([[0.0], [-2.0]]), np.array([[10.0], [2.0]]), dtype=np.float64))
    env = learnable(given)
    env.reset(seed=0)
    assert env.action_space == spaces.Box(-1.0, 1.0, (2,), np.float32)
    assert kind_of(env.action_space) == "bounded numbers"
    for action, told in (([-1.0, 1.0], [0.0, 2.0]), ([0.0, 0.0], [5.0, 0.0]), ([-7.0, 9.0], [0.0, 2.0])):
        env.step(np.array(action, np.float32))
        np.testing.assert_allclose(given.told, np.array(told)[:, None])


def test_a_box_without_bounds_is_acted_on_as_it_is() -> None:
    given = Echo(LINE, spaces.Box(-np.inf, np.inf, (1,), np.float32))
    env = learnable(given)
    env.reset(seed=0)
    env.step(np.array([41.0], np.float32))
    assert given.told == 41.0
    assert kind_of(env.action_space) == "numbers without bounds"


@pytest.mark.parametrize(
    ("space", "given", "told", "numbers"),
    [
        (spaces.Discrete(3, start=-1), np.int64(0), -1, 3),
        (spaces.MultiDiscrete([2, 3]), np.array([1, 2]), [1, 2], 5),
        (spaces.MultiDiscrete([2, 3], start=[5, 7]), np.array([1, 2]), [6, 9], 5),
    ],
)
def test_choices_count_from_zero(space: spaces.Space[Any], given: Any, told: Any, numbers: int) -> None:
    inner = Echo(LINE, space)
    env = learnable(inner)
    env.reset(seed=0)
    env.step(given)
    np.testing.assert_array_equal(inner.told, told)
    assert spaces.flatdim(env.action_space) == numbers
    assert kind_of(env.action_space) == "choices"


def test_other_actions_are_refused_with_the_name_of_the_environment() -> None:
    with pytest.raises(EnvError, match="make them a Box, Discrete or MultiDiscrete"):
        learnable(Echo(LINE, spaces.Dict({"a": UNIT})))
    with pytest.raises(EnvError, match=r"^--env tests.envs.gym.test_spaces:of_pictures: observations"):
        made(Source("tests.envs.gym.test_spaces:of_pictures"))


def of_pictures() -> Echo:
    return Echo(spaces.Box(0, 255, (8, 8, 3), np.uint8), UNIT)
