"""A Gymnasium environment as what is to be solved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from gymnasium.spaces import Box, Space

from common.errors import UsageError, UserError
from common.measure import BY_HOURS, Measure
from common.texts import printable
from envs.gym.episodes import INFO, PROCESS_SECONDS, Episodes, Row, seeds_of, training_copies
from envs.gym.probe import Probe, probe
from envs.gym.source import REFUSED, EnvError, Source, first_line, named
from envs.gym.spaces import made
from envs.objective.aim import SCORE_ALONE, Aim, AimError

if TYPE_CHECKING:
    import gymnasium as gym
    from gymnasium.vector import VectorEnv

LENGTH = Measure("length", "1", "steps of the episode", "neither", BY_HOURS, label="steps")
RATED = 0.2  # of a trial's steps, at most, in its evaluations
LEAST_EPISODES, MOST_EPISODES = 5, 50
FURTHER = 4  # times the episodes of an evaluation, by which policies are told apart that these do not tell apart


@dataclass(frozen=True)
class EnvTask:
    """What is to be solved in an environment; see `envs.task.Task`.

    It has no site, so no KPIs, no bound and no controllers to compare with but those that need no model.
    """

    source: Source
    aim: Aim = SCORE_ALONE  # its score is the return of an episode
    episodes: int = 0  # of an evaluation; 0 before a search settles it
    passed: int = 0  # episodes of a split that come before these
    at_once: int = 0  # of `rows`, in a copy of the environment each; 0 for all
    as_written: bool = False  # whether policies see and act as its author has it, as those of users do
    trusted: bool = False  # whether code that its name says may be imported; nothing stores it

    stepped_by: ClassVar[Literal["gymnasium"]] = "gymnasium"
    resumes_anywhere: ClassVar[bool] = False  # what environments hold cannot be saved

    @property
    def title(self) -> str:
        """As people read it."""
        return self.source.title

    @property
    def key(self) -> str:
        """What experiments compare: which environment it is, and its configuration."""
        return f"{self.source.title} {self.source.config}"

    @property
    def probe(self) -> Probe:
        """What the environment is like; an EnvError where there is none that can be learned."""
        self.check_trust()
        return probe(self.source)

    def check_trust(self) -> None:
        """Raise a UsageError where code would be imported that nobody has trusted."""
        if self.source.names_code and not self.trusted:
            raise UsageError(
                f"the experiment names code, {printable(self.source.name)}, which runs as your own where it is imported: add "
                "--trust-scenario if you trust it"
            )

    def seeing(self, assignment: Mapping[str, Any]) -> EnvTask:
        """The task for a trial of these hyperparameters: the same."""
        return self

    @property
    def columns(self) -> dict[str, Measure]:
        """What stands in a row of evaluations beside the table's own columns."""
        return {measure.name: measure for measure in (LENGTH, *self._reported)}

    @property
    def _reported(self) -> list[Measure]:
        named = [*self.aim.objectives, *(requirement.measure for requirement in self.aim.requirements)]
        return [measure for measure in dict.fromkeys(named) if measure.name.startswith(INFO)]

    def check_reported(self) -> None:
        """Raise an EnvError for an objective or a requirement that random actions never saw reported."""
        for name in (measure.name for measure in self._reported):
            if self.probe.ended and name.removeprefix(INFO) not in self.probe.reported:
                there = ", ".join(self.probe.reported) or "none"
                raise EnvError(
                    f"{name}: the last step of an episode reports no such number in its info; those that it reports: {there}"
                )

    @property
    def _make(self) -> Callable[[], gym.Env[np.ndarray, Any]]:
        self.check_trust()
        return self.source.make if self.as_written else partial(made, self.source)

    def training_env(self, copies: int) -> VectorEnv[Any, Any, Any]:
        """Copies that train."""
        return training_copies(self._make, copies)

    @property
    def in_processes(self) -> bool:
        """Whether copies that train are stepped in processes of their own; each trial measures it anew."""
        return self.probe.step_seconds > PROCESS_SECONDS

    def evaluator(self, own_layout: bool = False, split: Literal["validation", "test"] = "validation") -> Episodes:
        """Runs policies through the episodes of a split; all policies see the same."""
        names = [measure.name for measure in self._reported]
        return Episodes(self._make, seeds_of(split, self.episodes, self.passed), names, self.passed)

    def rows(
        self, policy: Callable[[np.ndarray], np.ndarray], split: Literal["validation", "test"], whose: str = ""
    ) -> list[Row]:
        """Rows of `evaluations` of a policy, one an episode; an EnvError, which begins with `whose`, where one fails."""
        rows, most = list[Row](), self.at_once or self.episodes
        for first in range(0, self.episodes, most):
            part = replace(self, episodes=min(most, self.episodes - first), passed=self.passed + first)
            try:
                with closing(part.evaluator(split=split)) as evaluator:
                    rows += evaluator.rows(policy)
            except UserError:
                raise
            except Exception as error:
                # It is the user's environment, which may raise anything, as where it cannot take an action.
                raise EnvError(f"{whose}an episode failed: {first_line(error)}") from error
        return rows

    @property
    def further(self) -> EnvTask:
        """The task with the episodes that come after those of its evaluations, as many at once as these have."""
        return replace(self, episodes=FURTHER * self.episodes, passed=self.episodes, at_once=self.episodes)

    @property
    def judged(self) -> EnvTask:
        """The task as a judge rates it: by at least as many episodes as a search may have."""
        return replace(self, episodes=max(self.episodes, MOST_EPISODES))

    def episodes_for(self, steps: int) -> int:
        """How many episodes an evaluation has that comes after so many steps of training, if nobody says."""
        fitting = int(steps * RATED / (1.0 - RATED)) // self.probe.episode_steps
        return min(MOST_EPISODES, max(LEAST_EPISODES, fitting))


def measure_of(minimize: bool) -> Callable[[str, str], Measure]:
    """Finds the measures of an environment for `Aim.parse`: the score, and what the last step of an episode reports."""

    def found(where: str, name: str) -> Measure:
        key = name.removeprefix(INFO)
        if name == SCORE_ALONE.objective.name:
            if minimize:
                raise AimError("--minimize: the return of an episode is maximised; name what to minimise: --objective info:KEY")
            return SCORE_ALONE.objective
        if key == name or not key:
            raise AimError(
                f"{where} {printable(name)}: of an environment it takes score, which is the return of an episode, or {INFO}KEY "
                "for a value that the info of an episode's last step reports"
            )
        meaning = f"mean of {key} in the info of an episode's last step"
        return Measure(name, "1", meaning, "less" if minimize else "more", BY_HOURS, label=key)

    return found


def simple_rows(task: EnvTask, split: Literal["validation", "test"]) -> list[Row]:
    """Rows of `evaluations` of policies that learned nothing: random actions and, where actions are numbers, none at all.

    No action is the middle of each action's range; what has no range, at 0.
    """
    space = _action_space(task)

    def random(observations: np.ndarray) -> np.ndarray:
        return np.array([space.sample() for _ in observations])

    def none(observations: np.ndarray) -> np.ndarray:
        return np.zeros((len(observations), *(space.shape or ())), np.float32)

    space.seed(0)
    policies = {"random actions": random} | ({"no action": none} if isinstance(space, Box) else {})
    return [{"contender": name, **row} for name, policy in policies.items() for row in task.rows(policy, split)]


def own_rows(task: EnvTask, split: Literal["validation", "test"], name: str) -> list[Row]:
    """The same of a policy of the user's, see `own_policy`."""
    whose, written = f"--baseline {printable(name)}: with its actions ", replace(task, as_written=True)
    rows = written.rows(own_policy(name, _action_space(written)), split, whose)
    return [{"contender": Source(name).title, **row} for row in rows]


def _action_space(task: EnvTask) -> Space[Any]:
    env = task._make()
    env.close()
    return env.action_space


def _is_of(space: Space[Any], action: Any) -> bool:
    """Whether it is an action, also as a list or in another precision."""
    try:
        return bool(space.contains(np.asarray(action, space.dtype) if isinstance(space, Box) else action))
    except (TypeError, ValueError):
        return False


def own_policy(name: str, space: Space[Any]) -> Callable[[np.ndarray], np.ndarray]:
    """A function of the user's, from an observation of the environment to an action of it, as a policy.

    Raises an EnvError if there is none of this name; the policy raises one where the function fails, or what it gives is
    no action.
    """
    try:
        act = named(Source(name).found_anywhere.name)
    except REFUSED as error:
        raise EnvError(
            f"--baseline {printable(name)}: {error}; it takes module:function or path/to/file.py:function"
        ) from error

    def policy(observations: np.ndarray) -> np.ndarray:
        try:
            actions = [act(observation) for observation in observations]
        except Exception as error:
            # It is the user's code, which may raise anything.
            raise EnvError(f"--baseline {printable(name)} failed: {first_line(error)}") from error
        for action in actions:
            if not _is_of(space, action):
                raise EnvError(f"--baseline {printable(name)} gave {printable(str(action))}, which is no action of {space}")
        return actions  # type: ignore[return-value]

    return policy
