"""Policies are rated by the same episodes, which training never has; copies that train are alike in one process and in many."""

import os
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from envs.gym.episodes import MOST_STEPS, TEST, VALIDATION, Episodes, seeds_of, training_copies
from envs.gym.source import EnvError, Source
from envs.gym.spaces import made

SEEDS: list[int | None] = []  # that copies of `Counter` were begun with


class Counter(gym.Env[np.ndarray, np.ndarray]):
    """An episode of as many steps as its seed says; it reports how many these were, and gives what it is told as reward."""

    observation_space, action_space = gym.spaces.Box(-1.0, 1.0, (1,)), gym.spaces.Box(-1.0, 1.0, (1,))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        SEEDS.append(seed)
        self.left = self.all = (seed or 0) % 5 + 1
        return np.array([self.left], np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.left -= 1
        info = {"steps": self.all} if self.left == 0 else {}
        return np.array([self.left], np.float32), float(action[0]), self.left == 0 and self.all % 2 == 0, self.left == 0, info


def of_level(observations: np.ndarray) -> np.ndarray:
    return observations


def test_each_episode_is_run_to_its_own_end_and_adds_up_its_rewards() -> None:
    episodes = Episodes(Counter, range(10, 14), ["info:steps"])
    rows = episodes.rows(of_level)
    assert [row["year"] for row in rows] == [0, 1, 2, 3]
    assert [row["length"] for row in rows] == [1, 2, 3, 4]
    assert [row["info:steps"] for row in rows] == [1.0, 2.0, 3.0, 4.0]
    assert [row["score"] for row in rows] == [1.0, 3.0, 6.0, 10.0]
    assert episodes.rows(of_level) == rows, "again the same"
    episodes.close()


def test_what_an_episode_does_not_report_is_named_with_what_it_does() -> None:
    with pytest.raises(EnvError, match=r"^info:kwh: .* which has steps"):
        Episodes(Counter, range(2), ["info:kwh"]).rows(of_level)


@pytest.mark.parametrize("value", ["much", None, np.nan, [1.0, 2.0]])
def test_what_an_episode_reports_is_a_number(value: object) -> None:
    class Reports(Counter):
        def step(self, action: np.ndarray) -> Any:
            return *super().step(action)[:-1], {"kwh": value}

    with pytest.raises(EnvError, match=r"^info:kwh: the last step of an episode reports .*, which is no finite number"):
        Episodes(Reports, range(2), ["info:kwh"]).rows(of_level)


def test_copies_that_train_tell_what_no_policy_can_learn_from() -> None:
    class Blind(Counter):
        def step(self, action: np.ndarray) -> Any:
            return np.full(1, np.inf, np.float32), *super().step(action)[1:]

    copies = training_copies(Blind, 2)
    copies.reset(seed=0)
    with pytest.raises(EnvError, match="gave inf in its observations, which have to be finite"):
        copies.step(np.zeros((2, 1), np.float32))


def test_an_episode_without_end_and_a_return_that_is_no_number_are_told() -> None:
    class Endless(Counter):
        def step(self, action: np.ndarray) -> Any:
            self.left = 7
            return super().step(action)

    class Broken(Counter):
        def step(self, action: np.ndarray) -> Any:
            return super().step(np.array([np.nan]))

    with pytest.raises(EnvError, match=f"after {MOST_STEPS:,} steps"):
        Episodes(Endless, range(1)).rows(of_level)
    with pytest.raises(EnvError, match="gave nan in its rewards, which have to be finite"):
        Episodes(Broken, range(1)).rows(of_level)


def test_training_has_no_seed_of_the_episodes_that_rate() -> None:
    validation, test = seeds_of("validation", 2**20), seeds_of("test", 2**20)
    assert VALIDATION <= min(validation) <= max(validation) < TEST <= min(test)
    copies = training_copies(Counter, 3)
    for seed in (0, 2**31 - 1, 2**32 - 1):
        SEEDS.clear()
        copies.reset(seed=seed)
        assert len(set(SEEDS)) == 3, "each copy its own"
        assert all(isinstance(own, int) and 0 <= own < VALIDATION for own in SEEDS)


def test_copies_in_processes_give_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    def make() -> gym.Env[np.ndarray, Any]:
        return made(Source("Pendulum-v1"))

    taken = []
    for limit, kind in ((1e9, SyncVectorEnv), (0.0, AsyncVectorEnv)):
        monkeypatch.setattr("envs.gym.episodes.PROCESS_SECONDS", limit)
        copies = training_copies(make, 2)
        assert isinstance(copies.env, kind)  # type: ignore[attr-defined]
        assert copies.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
        seen = [copies.reset(seed=5)[0]]
        for step in range(205):
            observations, rewards, *_ = copies.step(np.full((2, 1), np.sin(step), np.float32))
            seen.append(np.column_stack((observations, rewards)))
        taken.append(np.concatenate([each.ravel() for each in seen]))
        copies.close()
    np.testing.assert_array_equal(*taken)


def test_a_copy_whose_process_ends_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envs.gym.episodes.PROCESS_SECONDS", 0.0)
    monkeypatch.setattr("envs.gym.episodes.TIMED_STEPS", 1)
    copies = training_copies(Ends, 2)
    copies.reset(seed=0)
    copies.step(np.zeros(2, np.int64))
    with pytest.raises(EnvError, match="a copy of the environment ended its process"):
        copies.step(np.zeros(2, np.int64))
    copies.env.closed = True  # type: ignore[attr-defined]  # no process is there that could answer


class Ends(gym.Env[np.ndarray, int]):
    """Ends its process in its second step."""

    observation_space, action_space = gym.spaces.Box(-1.0, 1.0, (1,)), gym.spaces.Discrete(2)
    taken = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return np.zeros(1, np.float32), {}

    def step(self, action: int) -> Any:
        self.taken += 1
        if self.taken == 2:
            os._exit(1)
        return np.zeros(1, np.float32), 0.0, False, False, {}
