"""Episodes of an environment by which policies are rated: the same ones for all policies, and none that training has."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv, VectorWrapper

from envs.gym.source import EnvError

Policy = Callable[[Any], Any]  # from observations, shape (copies, features), to actions, shape (copies, ...)
Row = dict[str, Any]
INFO = "info:"  # how the name of an objective begins that an environment reports at the end of an episode

# Seeds of training lie below the first of these; validation and test have as many as lie between two.
VALIDATION, TEST = 2**30, 2**30 + 2**29
MOST_STEPS = 100_000  # of an episode that policies are rated by
# Of a step of one copy, above which copies have processes of their own: what is sent between them takes some 0.1 ms.
PROCESS_SECONDS = 5e-4
TIMED_STEPS = 20


def check_finite(observations: Any, rewards: Any) -> None:
    """Raise an EnvError for what no policy can learn from: observations or rewards that are no finite numbers."""
    for name, values in (("observations", observations), ("rewards", rewards)):
        if not (finite := np.isfinite(values)).all():
            value = np.asarray(values)[~finite].flat[0]
            raise EnvError(f"the environment gave {value} in its {name}, which have to be finite numbers")


def check_endless(steps: int) -> None:
    """Raise an EnvError for an episode that has taken so many steps and goes on, if policies cannot be rated by it."""
    if steps >= MOST_STEPS:
        raise EnvError(
            f"an episode has not ended after {MOST_STEPS:,} steps: wrap the environment in gymnasium.wrappers.TimeLimit"
        )


def seeds_of(split: Literal["validation", "test"], count: int, passed: int = 0) -> range:
    """Seeds of so many episodes of a split, after some that are passed. Training has lower ones, see `TrainingCopies`."""
    first = (VALIDATION if split == "validation" else TEST) + passed
    return range(first, first + count)


class Episodes:
    """Runs policies through the same episodes again and again, each in a copy of the environment of its own."""

    def __init__(
        self, make: Callable[[], gym.Env[np.ndarray, Any]], seeds: Sequence[int], names: Sequence[str] = (), passed: int = 0
    ) -> None:
        """`names` are of values that an episode's last step reports, with `INFO` before each; `passed` as of `seeds_of`."""
        self._seeds, self._names, self._passed = seeds, names, passed
        self._envs = [make() for _ in seeds]

    def rows(self, policy: Policy) -> list[Row]:
        """Number, return and steps of each episode, and the values that it reports.

        Raises an EnvError for an episode that does not end, whose return is no finite number, or that reports no such value.
        """
        observations = [env.reset(seed=seed)[0] for env, seed in zip(self._envs, self._seeds, strict=True)]
        returns, steps, last = [0.0] * len(self._envs), [0] * len(self._envs), [dict[str, Any]()] * len(self._envs)
        going = list(range(len(self._envs)))
        while going:
            shown = [observations[number] for number in going]
            # What the author of an environment shows may be a dictionary; a policy of a user takes one after another.
            actions = policy(np.stack(shown) if isinstance(shown[0], np.ndarray) else shown)
            still = []
            for number, action in zip(going, actions, strict=True):
                observations[number], reward, terminated, truncated, last[number] = self._envs[number].step(action)
                returns[number] += float(reward)
                steps[number] += 1
                if not (terminated or truncated):
                    still.append(number)
            check_endless(steps[still[0]] if still else 0)
            going = still
        check_finite((), returns)
        return [
            {"year": number, "score": total, "length": taken, **self._reported(info)}
            for number, (total, taken, info) in enumerate(zip(returns, steps, last, strict=True), self._passed)
        ]

    def _reported(self, info: dict[str, Any]) -> Row:
        lacks = [name for name in self._names if name.removeprefix(INFO) not in info]
        if lacks:
            there = ", ".join(sorted(info)) or "nothing"
            raise EnvError(f"{lacks[0]}: the last step of an episode does not report it in its info, which has {there}")
        numbers = {name: as_number(info[name.removeprefix(INFO)]) for name in self._names}
        if wrong := [name for name, number in numbers.items() if not np.isfinite(number)]:
            value = info[wrong[0].removeprefix(INFO)]
            raise EnvError(f"{wrong[0]}: the last step of an episode reports {value!r}, which is no finite number")
        return numbers

    def close(self) -> None:
        """Close the copies."""
        for env in self._envs:
            env.close()


def as_number(value: Any) -> float:
    """A value that an episode reports; NaN for what is no number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


class TrainingCopies(VectorWrapper):
    """Copies that train. Each gets a seed of its own, below those by which policies are rated."""

    def reset(self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None) -> Any:
        """See `VectorEnv`; `seed` is one number, or None to go on with the random numbers that the copies have."""
        if isinstance(seed, int):
            seed = [int(word) % VALIDATION for word in np.random.SeedSequence(seed).generate_state(self.num_envs)]
        with _alive():
            return super().reset(seed=seed, options=options)

    def step(self, actions: Any) -> Any:
        """See `VectorEnv`; an EnvError where an observation or a reward is no finite number, or a copy's process is gone."""
        with _alive():
            taken: Any = super().step(actions)
        check_finite(*taken[:2])
        return taken


@contextmanager
def _alive() -> Iterator[None]:
    try:
        yield
    except (EOFError, BrokenPipeError, ConnectionResetError) as error:
        raise EnvError("a copy of the environment ended its process, as by running out of memory or a crash") from error


def training_copies(make: Callable[[], gym.Env[np.ndarray, Any]], copies: int) -> VectorEnv[Any, Any, Any]:
    """Copies that are stepped at once: in this process, or in one each where a step takes long. Both give the same numbers."""
    kind = AsyncVectorEnv if _step_seconds(make) > PROCESS_SECONDS else SyncVectorEnv
    return TrainingCopies(kind([make] * copies, autoreset_mode=AutoresetMode.NEXT_STEP))


def _step_seconds(make: Callable[[], gym.Env[np.ndarray, Any]]) -> float:
    env, seconds = make(), []
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(TIMED_STEPS):
        begun = time.perf_counter()
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        seconds.append(time.perf_counter() - begun)
        if terminated or truncated:
            env.reset()
    env.close()
    return float(np.median(seconds))
