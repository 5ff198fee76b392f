"""Many copies of a site as one gymnasium vector environment, stepped by the batch backend."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from common.generators import set_generator
from envs.batch_backend import records
from envs.batch_backend.rewards import SchemaReward
from envs.batch_backend.simulator import BatchSimulator, Recorder
from envs.batch_backend.tables import Year
from envs.current_hour import Present
from envs.district import BUILDING_REWARDS
from envs.environments.seen_year import seen_layout, seen_template
from envs.environments.year_cache import run_alone, year_reference, year_tables
from envs.objective.evaluate import EVALUATION_SEED, Episode, Policy
from envs.objective.reference import Before, BuildingSeries, Reference, building_rewards
from envs.objective.reward import TERMS, RewardName
from envs.objective.weights import DEFAULT, Weights
from envs.scenarios.scenario import Scenario, Window
from envs.seen import Seen

STARTS = "starts"  # name of the option of `reset` with a `Start` of each copy


@dataclass(frozen=True)
class Start:
    """How an episode begins: its window, and the charge of the batteries, from 0 (as empty as they may be) to 1."""

    window: Window
    charge: float


class SiteVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Copies of `SiteEnv` over windows of a scenario's years: the same spaces, observations, rewards and ends.

    Each copy draws its windows at random. At the first reset the copies begin within their windows at hours that are spread
    evenly over an episode's length, so that a batch has many hours of the day and seasons. After the end of its episode, a copy
    ignores its next action and returns the first observation of its next episode (`AutoresetMode.NEXT_STEP`). Without `copy`,
    the next call of `step` or `reset` writes over the observations that the last one handed out.
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}  # noqa: RUF012 - gymnasium declares it so

    def __init__(
        self,
        scenario: Scenario,
        windows: Sequence[Window],
        num_envs: int,
        reward: RewardName = "improvement",
        copy: bool = True,
        weights: Weights = DEFAULT,
        seen: Seen | None = None,
    ) -> None:
        self.scenario, self.windows, self.reward_name, self.num_envs = scenario, tuple(windows), reward, num_envs
        self._copy, self.weights = copy, weights
        self.seen = seen or Seen.of(weights)
        self.layout = seen_layout(scenario, self.seen)
        years = sorted({window.year for window in self.windows})
        self.simulator = open_years(scenario, years, num_envs, weights=weights, seen=self.seen)
        self._schema_reward = SchemaReward(self.simulator) if reward == "schema" else None
        self.single_observation_space = gym.spaces.Box(-1.0, 1.0, (self.layout.size,), np.float32)
        self.single_action_space = gym.spaces.Box(-1.0, 1.0, (self.simulator.actions,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._series: BuildingSeries | None = None
        self._shares = np.zeros((num_envs, self.simulator.net_buildings))

    def split_rewards(self) -> None:
        """Tell from now on in the infos of `step` what each building earned; shape (copies, N)."""
        years = sorted({window.year for window in self.windows})
        self._series = BuildingSeries.of([self.simulator.reference(year) for year in years], self.weights)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin new episodes, the first of each copy at its own hour of a window, or as the option `STARTS` says."""
        super().reset(seed=seed)
        if options and STARTS in options:
            for b, start in enumerate(options[STARTS]):
                window = start.window
                self.simulator.begin(b, window.year, window.start, window.hours, EVALUATION_SEED, start.charge)
            return self._observation(), {}
        for b in range(self.num_envs):
            window = self._draw()
            passed = b * window.hours // self.num_envs
            self._begin(b, Window(window.year, window.start + passed, window.hours - passed))
        return self._observation(), {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Take one hour in all copies; those at the end of their episode begin another."""
        left = self._left
        over, going = np.flatnonzero(left == 0), np.flatnonzero(left)
        rewards = np.zeros(self.num_envs)
        self._shares[...] = 0.0
        if len(going):
            rewards[going] = self._advance(np.asarray(actions), going)[going]
        for b in over.tolist():
            self._begin(b, self._draw())
        infos = {BUILDING_REWARDS: self._shares} if self._series else {}
        return self._observation(), rewards, np.zeros(self.num_envs, dtype=bool), self._left == 0, infos

    def get_state(self) -> dict[str, Any]:
        """Positions of all copies and their random generator, as plain values and arrays."""
        return {"random": self.np_random.bit_generator.state, "simulator": self.simulator.get_state()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from a state of `get_state`, in place of a `reset`; a `ValueError` if it is of another site, or impossible."""
        self.simulator.set_state(state["simulator"])
        set_generator(self.np_random, state["random"])

    @property
    def _left(self) -> np.ndarray:
        """Steps left in the episode of each copy, shape (copies,)."""
        copy = self.simulator.state.copy
        return np.asarray(copy["hours"] - copy["step"])

    def _advance(self, actions: np.ndarray, going: np.ndarray) -> np.ndarray:
        if self._schema_reward is None:
            if self._series is None:
                self.simulator.step(actions, going)
            else:
                self._step_and_split(self._series, actions, going)
            return np.asarray(self.simulator.terms.sum(axis=1))
        rewards = self._schema_reward.step(actions, going)
        self._shares[going] = rewards[going, np.newaxis]
        return rewards

    def _step_and_split(self, series: BuildingSeries, actions: np.ndarray, going: np.ndarray) -> None:
        simulator, net = self.simulator, self.simulator.out.energy[:, :, records.NET_KWH]
        copy, rows = simulator.state.copy[going], simulator.row[going]
        before = Before(net[going].astype(np.float64), copy["net"], copy["step"] == 0)
        simulator.step(actions, going)
        comfort, terms = simulator.comfort_parts[going], simulator.terms[going]
        self._shares[going] = building_rewards(series, rows, before, net[going].astype(np.float64), comfort, terms)

    def _draw(self) -> Window:
        return self.windows[int(self.np_random.integers(len(self.windows)))]

    def _begin(self, b: int, window: Window) -> None:
        drift_seed, charge = int(self.np_random.integers(2**31)), float(self.np_random.random())
        self.simulator.begin(b, window.year, window.start, window.hours, drift_seed, charge)

    def _observation(self) -> np.ndarray:
        return self.simulator.observation.copy() if self._copy else self.simulator.observation


class WindowsEnv:
    """All windows of a split side by side, for evaluations."""

    def __init__(
        self,
        scenario: Scenario,
        windows: Sequence[Window],
        reward: RewardName = "improvement",
        weights: Weights = DEFAULT,
        own_layout: bool = False,
        seen: Seen | None = None,
    ) -> None:
        self.windows = tuple(windows)
        years = sorted({window.year for window in self.windows})
        longest = max(window.hours for window in self.windows)
        self.simulator = open_years(scenario, years, len(self.windows), longest, weights, own_layout, seen)
        self._schema_reward = SchemaReward(self.simulator) if reward == "schema" else None
        self._alone = [run_alone(scenario, window, self.reference_of(window.year)) for window in self.windows]
        self.simulator.compare_with(self.windows, self._alone)

    @property
    def present(self) -> Present:
        """The hour that the next step of each copy covers, for rules."""
        return self.simulator

    def reference_of(self, year: int) -> Reference:
        """Uncontrolled run of one of its years."""
        return self.simulator.reference(year)

    def episodes(self, policy: Policy) -> Iterator[Episode]:
        """Run a policy through all windows once, in their order; see `envs.environments.site_env.SiteEnv.episodes`."""
        simulator = self.simulator
        for b, window in enumerate(self.windows):
            simulator.begin(b, window.year, window.start, window.hours, EVALUATION_SEED)
        hours = np.array([window.hours for window in self.windows])
        rewards, terms = np.zeros(len(hours)), np.zeros((len(hours), len(TERMS)))
        recorder = Recorder(simulator, hours.max())
        for hour in range(hours.max()):
            going = np.flatnonzero(hours > hour)
            actions = np.asarray(policy(simulator.observation), dtype=np.float64)
            if self._schema_reward:
                rewards[going] += self._schema_reward.step(actions, going)[going]
            else:
                simulator.step(actions, going)
                rewards[going] += simulator.terms.sum(axis=1)[going]
            recorder.add()
            terms[going] += simulator.terms[going]
        for b, window in enumerate(self.windows):
            yield Episode(
                window,
                self.reference_of(window.year),
                float(rewards[b]),
                dict(zip(TERMS, terms[b].tolist(), strict=True)),
                recorder.run(b, window.year, window.hours),
                self._alone[b],
            )

    def close(self) -> None:
        """Do nothing: there is nothing to give back."""


def open_years(
    scenario: Scenario,
    years: Sequence[int],
    copies: int,
    record: int = 0,
    weights: Weights = DEFAULT,
    own_layout: bool = False,
    seen: Seen | None = None,
) -> BatchSimulator:
    """Copies over years of a scenario, with their layout, tariff and references."""
    seen = seen or Seen.of(weights)
    # Under the layout of training, environments of both kinds have the same years in memory.
    own_layout = own_layout and not scenario.same_buildings(scenario.split_of(years[0]))
    opened = {year: _open_year(scenario, year, seen, own_layout) for year in years}
    layout = seen_layout(scenario, seen, years[0], own_layout)
    return BatchSimulator(opened, copies, layout, record, weights=weights)


# Trials that follow one another in a process have the same years; simulators only read them.
@lru_cache(maxsize=8)
def _open_year(scenario: Scenario, year: int, seen: Seen, own_layout: bool) -> Year:
    template = seen_template(scenario, year, seen, own_layout)
    return Year(year_tables(scenario, year), template, year_reference(scenario, year))
