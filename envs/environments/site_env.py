"""A site as a gymnasium environment, and copies of it as one vector environment, stepped by CityLearn."""

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import astuple
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from common.errors import ScenarioError
from common.generators import set_generator
from envs.citylearn_backend.simulator import SIMULATORS, CityLearnSimulator
from envs.current_hour import Present, SiteState, scaled
from envs.district import BUILDING_REWARDS
from envs.environments.seen_year import seen_layout, seen_rows
from envs.environments.year_cache import building_series, run_alone, year_reference
from envs.objective.evaluate import EVALUATION_SEED, Episode, Policy
from envs.objective.reference import Before, Reference, building_rewards
from envs.objective.reward import TERMS, ByTerm, RewardName, coefficients, improvement_terms
from envs.objective.series import DayPeak, import_kwh, solar_use_kwh
from envs.objective.weights import DEFAULT, Weights
from envs.scenarios.scenario import Scenario, Window
from envs.scenarios.tariff import MonthPeaks
from envs.seen import Seen


class SiteEnv(gym.Env[np.ndarray, np.ndarray]):
    """A site over windows of a scenario's years, one hour a step.

    Observation: `Box(-1, 1, (layout.size,), float32)`: what the schema activates, in CityLearn's order, each mapped from fixed
    bounds to [-1, 1], cyclic ones as sine and cosine. Then what else is seen (`envs.seen`), then the month's highest imports so
    far in peak hours and outside where the tariff has a demand charge, then the day's where the reward has weight on it. Load,
    irradiance and price are of the hour that begins, state of charge and net consumption as the last action left them.

    Action: `Box(-1, 1, (actions,), float32)`, one per storage and charger, mapped to CityLearn's range and clipped. For a
    battery -1 is full discharge, 0 idle, 1 full charge; for a charger without discharge -1 is off and 1 full power.

    Episode: one window. It ends with `truncated=True`, as the year goes on and the value of the last state is not zero. `order`
    `random` draws a window and the batteries' charge at each reset; `sequence` takes the windows in turn, with empty batteries.
    `own_layout` as of `envs.environments.year_cache.observation_layout`.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - gymnasium declares it so

    def __init__(
        self,
        scenario: Scenario,
        windows: Sequence[Window],
        order: Literal["random", "sequence"] = "random",
        reward: RewardName = "improvement",
        weights: Weights = DEFAULT,
        own_layout: bool = False,
        seen: Seen | None = None,
    ) -> None:
        self.scenario, self.windows, self.order, self.reward_name = scenario, tuple(windows), order, reward
        self._weights = weights
        self.seen = seen or Seen.of(weights)
        self.layout = seen_layout(scenario, self.seen, self.windows[0].year, own_layout)
        self._next_window, self._splits = 0, False
        self._loans = ExitStack()
        self._years: dict[int, tuple[CityLearnSimulator, Reference]] = {}
        self.simulator, self.reference = self._year(self.windows[0].year)
        self.observation_space = gym.spaces.Box(-1.0, 1.0, (self.layout.size,), np.float32)
        self.action_space = gym.spaces.Box(-1.0, 1.0, self.simulator.action_low.shape, np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin the next window. `info["window"]` says which."""
        super().reset(seed=seed)
        if self.order == "random":
            self.window = self.windows[int(self.np_random.integers(len(self.windows)))]
            drift_seed, charge = int(self.np_random.integers(2**31)), float(self.np_random.random())
        else:
            self.window = self.windows[self._next_window % len(self.windows)]
            drift_seed, charge = EVALUATION_SEED, 0.0
            self._next_window += 1
        return self._begin(drift_seed, charge), {"window": self.window}

    def _begin(self, drift_seed: int, charge: float) -> np.ndarray:
        self._drift_seed, self._charge = drift_seed, charge
        self._taken: list[np.ndarray] = []
        window = self.window
        self.simulator, self.reference = self._year(window.year)
        raw = self.simulator.begin(window.start, window.hours, drift_seed, charge, self.reference)
        # In training it takes longer to simulate a window without control than the difference is worth.
        alone = run_alone(self.scenario, window, self.reference) if self.order == "sequence" else None
        self.uncontrolled = self.reference.window(window.start, window.hours, alone)
        self._previous_net = self.uncontrolled.previous_net_kwh
        self._peaks = MonthPeaks(self.reference.tariff) if self.reference.tariff else None
        self._day_peak = DayPeak()
        self._step = 0
        return self._observe(raw)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Take one hour. `info` holds the terms of the reward."""
        simulator, index = self.simulator, self._step
        row = simulator.row
        self._taken.append(np.array(action))
        raw, schema_reward = simulator.step(self._native(action))
        site_net_before = self._previous_net
        figures = self._figures(row, index)
        terms = improvement_terms(figures, self.uncontrolled.step(index), self.reference.scale, self._weights)
        reward = sum(terms.values()) if self.reward_name == "improvement" else schema_reward
        if self.reward_name == "schema" and not math.isfinite(reward):
            # A learner would blame its hyperparameters.
            raise ScenarioError(f"{self.scenario.title}: the schema's reward is {reward} in row {row}; mend its class")
        info: dict[str, Any] = dict(terms)
        if self._splits:
            info[BUILDING_REWARDS] = self._split(row, index, site_net_before, terms, reward)
        self._step += 1
        truncated = self._step == self.window.hours
        return self._observe(raw), reward, False, truncated, info

    def split_rewards(self) -> None:
        """See `envs.environments.vector_env.SiteVectorEnv.split_rewards`; shape (N,)."""
        self._splits = True

    def _split(self, row: int, index: int, site_net_before: float | None, terms: dict[str, float], reward: float) -> np.ndarray:
        """What each building earned in a step, shape (N,)."""
        net = self.simulator.net_kwh(index).astype(np.float64)
        if self.reward_name == "schema":
            return np.full(len(net), reward)
        before = Before(
            self.simulator.net_kwh(max(index - 1, 0)).astype(np.float64)[np.newaxis],
            np.array([np.nan if site_net_before is None else site_net_before]),
            np.array([index == 0]),
        )
        series = building_series(self.scenario, self.window.year, self._weights)
        of_site = np.array([[terms[name] for name in TERMS]])
        uncontrolled = self.reference.unmet_c(np.array([row]), np.array([index]))[:, 0]
        comfort = coefficients(self.reference.scale, self._weights)["comfort"] * (uncontrolled - self._unmet_c(row, index))
        return building_rewards(series, np.array([row]), before, net[np.newaxis], comfort[np.newaxis], of_site)[0]

    @property
    def present(self) -> Present:
        """The hour that the next step covers, for rules; as one copy."""
        return _Present(self)

    def reference_of(self, year: int) -> Reference:
        """Uncontrolled run of one of its years."""
        return self._year(year)[1]

    def episodes(self, policy: Policy) -> Iterator[Episode]:
        """Run a policy through all windows once, in their order, with observations of shape (1, observations)."""
        for _ in self.windows:
            observation, _ = self.reset()
            rewards, terms, truncated = 0.0, dict.fromkeys(TERMS, 0.0), False
            while not truncated:
                observation, reward, _, truncated, now = self.step(policy(observation[np.newaxis])[0])
                rewards += reward
                for name in terms:
                    terms[name] += now[name]
            run, alone = self.simulator.run(), run_alone(self.scenario, self.window, self.reference)
            yield Episode(self.window, self.reference, rewards, terms, run, alone)

    def get_state(self) -> dict[str, Any]:
        """Its generator, the start of its episode and the actions since: CityLearn's objects fit no file, but repeat."""
        return {
            "random": self.np_random.bit_generator.state,
            "next_window": self._next_window,
            "window": astuple(self.window),
            "drift_seed": self._drift_seed,
            "charge": self._charge,
            "actions": np.array(self._taken),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Take the steps of a state of `get_state` again, in place of a `reset`; a `ValueError` for an impossible state."""
        window, seed, charge, following = (state[name] for name in ("window", "drift_seed", "charge", "next_window"))
        if tuple(window) not in map(astuple, self.windows):
            raise ValueError(f"{window!r:.80} is no window of this environment")
        if type(seed) is not int or not 0 <= seed < 2**31 or type(following) is not int or not 0 <= charge <= 1:
            raise ValueError("a state has numbers that no episode has")
        if len(state["actions"]) > window[2]:
            raise ValueError(f"{len(state['actions'])} steps do not fit into {window[2]} hours")
        self.window = Window(*window)
        self._begin(seed, charge)
        for action in state["actions"]:
            self.step(action)
        self._next_window = following
        set_generator(self.np_random, state["random"])

    def close(self) -> None:
        """Give the simulators to the next environment of this process."""
        self._loans.close()
        self._years.clear()

    def _year(self, year: int) -> tuple[CityLearnSimulator, Reference]:
        if year not in self._years:
            simulator = self._loans.enter_context(SIMULATORS.lend(self.scenario, year, self.reward_name == "schema"))
            self._years[year] = simulator, year_reference(self.scenario, year)
        return self._years[year]

    def _native(self, action: np.ndarray) -> np.ndarray:
        low, high = self.simulator.action_low, self.simulator.action_high
        part = (np.clip(np.asarray(action, dtype=np.float64), -1.0, 1.0) + 1.0) / 2.0
        return low + part * (high - low)

    def _figures(self, row: int, index: int) -> ByTerm:
        series = self.reference.exogenous
        net = self.simulator.net_kwh(index)
        site_net = float(net.sum())
        drawn = import_kwh(net) + self.simulator.owed_kwh(row)
        cost = float(drawn @ series.price[:, row])
        if self._peaks:
            # The month was entered when its first hour was observed.
            cost += self._peaks.add(int(series.hour[row]), site_net) * float(self.uncontrolled.month_share[index])
        previous = site_net if self._previous_net is None else self._previous_net
        self._previous_net = site_net
        return {
            "co2": float(drawn @ series.carbon[:, row]),
            "cost": cost,
            "solar": float(solar_use_kwh(net, series.pv_kwh[:, row]).sum()),
            "grid": abs(site_net - previous),
            "ev": self.simulator.missing_kwh(row),
            "peak": self._day_peak.add(site_net),
            "comfort": float(self._unmet_c(row, index).sum()),
        }

    def _unmet_c(self, row: int, index: int) -> np.ndarray:
        """Degrees beyond the comfort band of each building in a step that was taken, shape (N,)."""
        indoor = self.simulator.indoor_temperatures(index)
        return self.reference.exogenous.unmet_c(indoor[:, np.newaxis], np.array([row]))[:, 0]

    def _observe(self, raw: np.ndarray) -> np.ndarray:
        if not self.seen.is_plain:
            raw = np.append(raw, seen_rows(self.scenario, self.window.year, self.seen)[self.simulator.row])
        if self._peaks:
            self._peaks.enter(int(self.reference.exogenous.month[self.simulator.row]))
            raw = np.append(raw, [self._peaks.peak_kw, self._peaks.off_peak_kw])
        self._day_peak.enter(int(self.reference.day[self.simulator.row]))
        if self.seen.day_peak:
            raw = np.append(raw, self._day_peak.kw)
        return self.layout.scale(raw)


class _Present:
    """The present hour of the one copy that CityLearn steps; see `envs.current_hour.Present`."""

    def __init__(self, env: SiteEnv) -> None:
        """Show the present hour of an environment, in any of its years."""
        self._env = env
        self.battery_actions, self.battery_step_kwh = env.simulator.battery_actions, env.simulator.battery_step_kwh

    @property
    def action_range(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest value of each action, both of shape (actions,)."""
        return self._env.simulator.action_low, self._env.simulator.action_high

    @property
    def hour_of_day(self) -> np.ndarray:
        """0 to 23, shape (1,)."""
        return self._now(self._env.reference.exogenous.hour)

    @property
    def is_dear(self) -> np.ndarray:
        """Whether imports cost more than in other hours, shape (1,)."""
        return self._now(self._env.reference.dear)

    @property
    def uncontrolled_net_kwh(self) -> np.ndarray:
        """Net import of the uncontrolled site, shape (1,)."""
        return self._now(self._env.reference.net_kwh)

    def uncontrolled_actions(self) -> np.ndarray:
        """Actions of the uncontrolled site, within [-1, 1], shape (1, actions)."""
        return scaled(self._env.simulator.uncontrolled_actions()[np.newaxis], *self.action_range)

    def site_state(self, copy: int) -> SiteState | None:
        """State of the one copy; None at the end of its window."""
        env, simulator = self._env, self._env.simulator
        if env._step == env.window.hours:
            return None
        peaks = (env._peaks.peak_kw, env._peaks.off_peak_kw) if env._peaks else (0.0, 0.0)
        soc = simulator.battery_soc, simulator.tank_soc, simulator.vehicle_soc
        rooms = simulator.rooms_before
        return SiteState(env.window, simulator.row, *soc, env._previous_net, peaks, env._day_peak.kw, *rooms)

    def _now(self, series: np.ndarray) -> np.ndarray:
        return series[self._env.simulator.row][np.newaxis]


class SiteEnvs(SyncVectorEnv):
    """Copies of `SiteEnv` that draw their windows at random and can save their state."""

    envs: list[Any]

    def __init__(
        self,
        scenario: Scenario,
        windows: Sequence[Window],
        num_envs: int,
        reward: RewardName,
        weights: Weights = DEFAULT,
        seen: Seen | None = None,
    ) -> None:
        self.seen, self.weights = seen or Seen.of(weights), weights
        super().__init__(
            [lambda: SiteEnv(scenario, windows, "random", reward, weights=weights, seen=seen) for _ in range(num_envs)],
            autoreset_mode=AutoresetMode.NEXT_STEP,
        )

    def split_rewards(self) -> None:
        """Tell from now on in the infos of `step` what each building earned; shape (copies, N)."""
        for env in self.envs:
            env.split_rewards()

    def get_state(self) -> dict[str, Any]:
        """State of each copy, and which of them begin another episode in the next step."""
        return {"copies": [env.get_state() for env in self.envs], "over": self._autoreset_envs.copy()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from a state of `get_state`, in place of a `reset`; a `ValueError` for another number of copies."""
        for env, copy in zip(self.envs, state["copies"], strict=True):
            env.set_state(copy)
        self._autoreset_envs = state["over"].copy()
