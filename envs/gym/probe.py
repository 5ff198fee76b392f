"""Looks at an environment in a process of its own: its spaces, what a step and a copy cost, and what Gymnasium finds in it.

So the driver of a search runs no code of the environment, and what the environment takes can be measured.
"""

import json
import subprocess
import sys
import time
import warnings
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gymnasium as gym
import numpy as np
import psutil
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

from common.errors import UserError
from common.json_values import described
from common.texts import raised
from envs.gym.episodes import MOST_STEPS, as_number, check_endless, check_finite
from envs.gym.source import REFUSED, EnvError, Source, first_line
from envs.gym.spaces import Actions, kind_of, made

MOST_SECONDS = 300.0  # that the look may take
STEPS = 2_000  # that are timed, or more until an episode has ended, but not beyond
SECONDS = 5.0
COPIES = 4  # of which the memory is measured
OF_CHANCE = "eterministic"  # in what it says where episodes do not follow from their seeds, which is no reason to refuse them
# Findings about what is done here anyway: observations are scaled by their running mean and variance, actions from [-1, 1].
MENDED = ("-infinity. This is probably too low", "infinity. This is probably too high", "symmetric and normalized space")


@dataclass(frozen=True)
class Probe:
    """What was found."""

    features: int  # of an observation
    outputs: int  # of a policy: actions of a box, or choices of all parts together
    actions: Actions
    step_seconds: float  # of one copy
    episode_steps: int  # of an episode of random actions; as many as were taken where none ended
    ended: bool  # whether one ended
    copy_bytes: int  # that a further copy takes
    process_bytes: int  # that a process takes with its first copy: modules, mostly
    reported: tuple[str, ...]  # keys of numbers in the info of an episode's last step; none where none ended
    findings: tuple[str, ...]  # of Gymnasium's checker, a line each


@lru_cache
def probe(source: Source) -> Probe:
    """Look at an environment. Raises an EnvError where there is none that can be learned."""
    with TemporaryDirectory() as folder:
        told = Path(folder) / "found.json"
        # The same modules are found as here.
        program = f"import sys; sys.path[:] = {sys.path!r}; from envs.gym.probe import main; main(*sys.argv[1:])"
        try:
            subprocess.run(
                [sys.executable, "-c", program, source.name, source.config, str(told)],
                timeout=MOST_SECONDS, check=True, capture_output=True, text=True,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise EnvError(f"--env {source.name}: making it and some steps took over {MOST_SECONDS:.0f} s") from None
        except subprocess.CalledProcessError as error:
            last = raised(error.stderr or "")
            why = f": {last}" if last else ""
            raise EnvError(f"--env {source.name}: its process ended with status {error.returncode}{why}") from None
        content = json.loads(told.read_text(encoding="utf-8"))
    if "error" in content:
        raise EnvError(content["error"])
    return described(Probe, content, "what was found")


def main(name: str, config: str, told: str) -> None:
    """Look at an environment in this process, and write what was found into a file."""
    try:
        content: dict[str, Any] = asdict(look(Source(name, config)))
    except UserError as error:
        content = {"error": str(error)}
    Path(told).write_text(json.dumps(content), encoding="utf-8")


def look(source: Source) -> Probe:
    """What is to be said of an environment, measured in this process."""
    process = psutil.Process()
    before = process.memory_info().rss
    env = made(source)
    try:
        env.reset(seed=0)
        first = process.memory_info().rss
        if isinstance(env.unwrapped.action_space, spaces.Space):  # else Gymnasium's checker says so
            _check_step(env.unwrapped)
            env.reset(seed=0)
        env.action_space.seed(0)
        taken, episode, ended, reported, begun = 0, 0, False, set[str](), time.perf_counter()
        while taken < (STEPS if ended else MOST_STEPS) and time.perf_counter() - begun < SECONDS:
            observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
            as_array = np.asarray(reward)
            if as_array.ndim or as_array.dtype.kind not in "biuf":
                raise EnvError(f"a step gave the reward {reward!r}, which has to be a number")
            check_finite(observation, reward)
            taken, episode = taken + 1, episode + (not ended)
            if terminated or truncated:
                ended = True
                reported |= {str(key) for key, value in info.items() if np.isfinite(as_number(value))}
                env.reset()
        check_endless(taken if not ended else 0)
        seconds = (time.perf_counter() - begun) / taken
    except REFUSED as error:
        raise EnvError(f"--env {source.name}: {first_line(error)}") from error
    with_first = process.memory_info().rss
    others = [made(source) for _ in range(COPIES)]
    for other in others:
        other.reset(seed=0)
        other.step(other.action_space.sample())
    each = (process.memory_info().rss - with_first) // COPIES
    space = env.action_space
    probe = Probe(
        spaces.flatdim(env.observation_space), spaces.flatdim(space), kind_of(space), seconds, episode, ended, max(each, 0),
        max(first - before, 0), tuple(sorted(reported)), findings_of(source),
    )  # fmt: skip
    for one in (env, *others):
        one.close()
    return probe


def _check_step(env: gym.Env[Any, Any]) -> None:
    """Raise an EnvError where a step of an environment that was reset gives something else than Gymnasium says."""
    told = env.step(env.action_space.sample())
    if not isinstance(told, tuple) or len(told) != 5:
        what = f"{len(told)} values" if isinstance(told, tuple) else type(told).__name__
        raise EnvError(f"step returned {what}, and has to return observation, reward, terminated, truncated, info")


def findings_of(source: Source) -> tuple[str, ...]:
    """What `gymnasium.utils.env_checker` finds, a line each. Raises an EnvError where it finds no environment."""
    env = source.make()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            check_env(env.unwrapped, skip_render_check=True, skip_close_check=True)
        except REFUSED as error:
            what = str(error).partition("\n")[0]
            if OF_CHANCE in what:
                return (what,)
            raise EnvError(f"--env {source.name}: Gymnasium's checker refuses it: {what}") from error
        finally:
            env.close()
    # Gymnasium colours its warnings.
    texts = (str(one.message).replace("\x1b[33m", "").replace("\x1b[0m", "").removeprefix("WARN: ") for one in caught)
    lines = dict.fromkeys(text.strip().partition("\n")[0] for text in texts)
    return tuple(line for line in lines if not any(mended in line for mended in MENDED))
