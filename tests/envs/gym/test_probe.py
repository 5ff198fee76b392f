"""A look at an environment says its sizes and costs, and what is wrong with it, before anything is searched."""

from pathlib import Path

import pytest

from envs.gym.probe import findings_of, look, probe
from envs.gym.source import EnvError, Source

SICK = """
import gymnasium as gym, numpy as np, time, warnings
class Env(gym.Env):
    observation_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float64)
    action_space = gym.spaces.Discrete(3)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2), {}
    def step(self, action):
        return np.zeros(2), 0.0, False, False, {}
class Late(Env):
    def reset(self, *, seed=None, options=None):
        self.taken = 0
        return super().reset(seed=seed)
    def step(self, action):
        time.sleep(0.002)
        self.taken += 1
        return np.zeros(2), 0.0, False, self.taken == 9, {}
class Chance(Env):
    def step(self, action):
        return np.random.rand(2), 0.0, False, True, {}
class Outside(Env):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.full(2, 9.0), {}
class Breaks(Env):
    def step(self, action):
        raise RuntimeError("the valve is stuck")
class Old(Env):
    def step(self, action):
        return np.zeros(2), 0.0, False, {}
class Unmeasured(Env):
    def step(self, action):
        return np.zeros(2), float("nan"), False, True, {}
class Listed(Env):
    def step(self, action):
        return np.zeros(2), np.zeros(1), False, True, {}
class Dies(Env):
    def __init__(self):
        import os
        os._exit(7)
"""


@pytest.fixture
def sick(tmp_path: Path) -> Path:
    path = tmp_path / "sick.py"
    path.write_text(SICK, encoding="utf-8")
    return path


def test_sizes_and_costs_come_from_a_process_of_its_own() -> None:
    found = probe(Source("CartPole-v1"))
    assert (found.features, found.outputs, found.actions, found.ended) == (4, 2, "choices", True)
    assert 1 <= found.episode_steps <= 500
    assert 0.0 < found.step_seconds < 0.1
    assert found.process_bytes > 0
    assert found.findings == ()
    pendulum = look(Source("Pendulum-v1"))
    assert (pendulum.features, pendulum.outputs, pendulum.actions) == (3, 1, "bounded numbers")
    assert pendulum.episode_steps == 200
    assert pendulum.findings == (), "that actions should be scaled is done here"


def test_an_episode_that_does_not_end_is_noted_or_refused_and_a_slow_step_is_measured(
    sick: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("envs.gym.probe.SECONDS", 0.01)
        endless = look(Source(f"{sick}:Env"))
        assert not endless.ended
        assert endless.reported == ()
        patch.setattr("envs.gym.probe.SECONDS", 60.0)
        for module in ("envs.gym.probe", "envs.gym.episodes"):
            patch.setattr(f"{module}.MOST_STEPS", 500)
        with pytest.raises(EnvError, match="an episode has not ended after 500 steps: wrap"):
            look(Source(f"{sick}:Env"))
    assert look(Source(f"{sick}:Late")).step_seconds >= 0.002


def test_chance_is_a_finding_and_a_broken_promise_is_an_error(sick: Path) -> None:
    (finding,) = findings_of(Source(f"{sick}:Chance"))
    assert "eterministic" in finding
    with pytest.raises(EnvError, match="Gymnasium's checker refuses it"):
        findings_of(Source(f"{sick}:Outside"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Breaks", r"RuntimeError: the valve is stuck \(sick.py, line 28, in step\)$"),
        ("Old", "step returned 4 values, and has to return observation, reward, terminated, truncated, info$"),
        ("Dies", "ended with status 7$"),
        ("None", "there is no None in "),
        ("Unmeasured", "Unmeasured: the environment gave nan in its rewards"),
        ("Listed", "has to be a number"),
    ],
)
def test_what_breaks_there_is_one_line_here(sick: Path, name: str, said: str) -> None:
    with pytest.raises(EnvError, match=said) as caught:
        probe(Source(f"{sick}:{name}"))
    assert "\n" not in str(caught.value)
