"""An environment answers what a search asks of a task, imports nothing that nobody trusts, and aims at what it reports."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from common.errors import UsageError
from envs.gym.source import EnvError, Source
from envs.gym.task import LEAST_EPISODES, MOST_EPISODES, EnvTask, measure_of, own_rows, simple_rows
from envs.objective.aim import Aim, AimError

PUMP = Source("examples.pump:make")


def test_nothing_is_imported_of_code_that_nobody_trusts() -> None:
    task = EnvTask(Source("no.such.module:make"), episodes=2)
    for ask in (lambda: task.probe, lambda: task.training_env(1), task.evaluator):
        with pytest.raises(UsageError, match="--trust-scenario"):
            ask()
    EnvTask(Source("CartPole-v1"), episodes=2).evaluator().close()


def test_aims_are_the_return_or_what_episodes_report() -> None:
    less, more = (Aim.parse((), "info:bill", ("info:lacking_m3<=5",), measure_of(minimize)) for minimize in (True, False))
    rows = [
        {"score": -1.0, "info:bill": 3.0, "info:lacking_m3": 2.0},
        {"score": -2.0, "info:bill": 5.0, "info:lacking_m3": 4.0},
    ]
    outcome = less.outcome(rows)
    assert (outcome.score, outcome.objective, outcome.shortfall) == (-1.5, 4.0, 0.0)
    assert (less.rating(outcome), more.rating(more.outcome(rows))) == (-4.0, 4.0)
    assert less.outcome([{**row, "info:lacking_m3": 50.0} for row in rows]).shortfall == 9.0
    assert less.names == "info:bill"
    assert Aim.parse((), "score", (), measure_of(False)).is_score
    for name, minimize in (("bill", True), ("info:", False), ("score", True)):
        with pytest.raises(AimError, match="info:KEY"):
            Aim.parse((), name, (), measure_of(minimize))


def test_rows_have_what_is_aimed_at_and_policies_that_learned_nothing_stand_beside() -> None:
    aim = Aim.parse((), "info:bill", ("info:lacking_m3<=5",), measure_of(True))
    task = EnvTask(PUMP, aim, episodes=3, trusted=True)
    assert set(task.columns) == {"length", "info:bill", "info:lacking_m3"}
    rows = task.rows(lambda observations: np.zeros((len(observations), 1)), "validation")
    assert [set(row) for row in rows] == [{"year", "score", *task.columns}] * 3
    assert task.rows(lambda observations: np.zeros((len(observations), 1)), "test") != rows, "other weeks"
    simple = simple_rows(task, "validation")
    assert [row["contender"] for row in simple] == ["random actions"] * 3 + ["no action"] * 3
    assert [row["score"] for row in simple[3:]] == [row["score"] for row in rows]
    assert simple_rows(task, "validation") == simple, "drawn from one seed"
    choices = EnvTask(Source("CartPole-v1"), episodes=2)
    assert {row["contender"] for row in simple_rows(choices, "validation")} == {"random actions"}


def test_what_a_policy_of_the_user_gives_is_an_action(tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text("def left(seen):\n    return 0\n\n\ndef bad(seen):\n    return 7\n", encoding="utf-8")
    task = EnvTask(Source("CartPole-v1"), episodes=2, trusted=True)
    assert {row["contender"] for row in own_rows(task, "validation", f"{tmp_path / 'rules.py'}:left")} == {"rules:left"}
    with pytest.raises(EnvError, match=r"bad gave 7, which is no action of Discrete\(2\)"):
        own_rows(task, "validation", f"{tmp_path / 'rules.py'}:bad")


def test_what_random_actions_never_saw_reported_is_refused_before_the_search() -> None:
    def check(objective: str) -> None:
        EnvTask(PUMP, Aim.parse((), objective, (), measure_of(True)), episodes=2, trusted=True).check_reported()

    check("info:bill")
    with pytest.raises(EnvError, match=r"info:nokey: the last step of an episode reports no such number in its info; .* bill"):
        check("info:nokey")


def test_where_no_episode_of_random_actions_ended_nothing_is_known_of_what_it_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    task = EnvTask(PUMP, Aim.parse((), "info:nokey", (), measure_of(True)), episodes=2, trusted=True)
    found = replace(task.probe, ended=False, reported=())
    monkeypatch.setattr("envs.gym.task.probe", lambda source: found)
    task.check_reported()


def test_further_episodes_follow_those_of_evaluations_and_are_the_same_however_many_run_at_once() -> None:
    task = EnvTask(PUMP, episodes=2, trusted=True)

    def idle(observations: np.ndarray) -> np.ndarray:
        return np.zeros((len(observations), 1))

    first, further = task.rows(idle, "validation"), task.further.rows(idle, "validation")
    assert [row["year"] for row in (*first, *further)] == list(range(10))
    assert EnvTask(PUMP, episodes=10, trusted=True).rows(idle, "validation") == [*first, *further]


class Falls(gym.Env[np.ndarray, int]):
    observation_space, action_space = Box(0.0, 1.0, (1,)), Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return np.zeros(1, np.float32), {}

    def step(self, action: int) -> Any:
        raise OSError("no such pump")


def test_an_episode_that_fails_is_a_line_with_what_the_environment_says() -> None:
    with pytest.raises(EnvError, match=r"^an episode failed: OSError: no such pump \(test_task.py, line 102, in step\)$"):
        simple_rows(EnvTask(Source(f"{__name__}:Falls"), episodes=2, trusted=True), "validation")


def test_evaluations_take_a_fifth_of_a_trial_within_bounds() -> None:
    task = EnvTask(PUMP, trusted=True)  # episodes of 168 steps
    assert task.episodes_for(20_000) == int(20_000 * 0.25) // 168 == 29
    assert task.episodes_for(100) == LEAST_EPISODES
    assert task.episodes_for(10**7) == MOST_EPISODES
    assert not task.in_processes
    assert task.key == "examples.pump:make {}"
