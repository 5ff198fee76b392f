"""The present hour of a site as rules see it, whichever backend steps the site."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from envs.site_env import SiteEnv


class Present(Protocol):
    """The hour that the next step of each copy of a site covers; `envs.batch.simulator.BatchSimulator` is one."""

    @property
    def action_range(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest value of each action as CityLearn takes it, both of shape (actions,)."""

    @property
    def battery_actions(self) -> np.ndarray:
        """Indices of the actions of stationary batteries."""

    @property
    def battery_power_kw(self) -> float:
        """Nominal power of these batteries together."""

    @property
    def hour_of_day(self) -> np.ndarray:
        """0 to 23, shape (copies,)."""

    @property
    def is_dear(self) -> np.ndarray:
        """Whether imports cost more than in other hours, see `envs.reference.Reference.dear`; shape (copies,)."""

    @property
    def uncontrolled_net_kwh(self) -> np.ndarray:
        """Net import of the uncontrolled site, shape (copies,)."""

    def uncontrolled_actions(self) -> np.ndarray:
        """Actions of the uncontrolled site, within [-1, 1], shape (copies, actions)."""


class CityLearnPresent:
    """The present hour of a site that CityLearn steps, as one copy; see `Present`."""

    def __init__(self, env: SiteEnv) -> None:
        """Look at an environment, whichever of its years it is in."""
        self._env = env
        actions = [(b, name) for b in env.simulator.env.buildings for name in b.active_actions]
        batteries = [(i, b) for i, (b, name) in enumerate(actions) if name == "electrical_storage"]
        self.battery_actions = np.array([i for i, _ in batteries], dtype=np.int64)
        self.battery_power_kw = float(sum(b.electrical_storage.nominal_power for _, b in batteries))

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

    def _now(self, series: np.ndarray) -> np.ndarray:
        return series[self._env.simulator.row][np.newaxis]


def scaled(actions: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Actions as environments take them, of those that CityLearn takes; what lies outside their range is cut off.

    Args:
        actions: as CityLearn takes them, shape (..., actions).
        low: least value of each, shape (actions,).
        high: greatest value of each, shape (actions,).

    Returns:
        Within [-1, 1], of the same shape; -1 for an action that has but one value.
    """
    span = high - low
    return np.asarray((np.clip(actions, low, high) - low) / np.where(span > 0.0, span, 1.0) * 2.0 - 1.0)
