"""The present hour of a site as rules and model predictive control see it, on any backend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from envs.scenarios.scenario import Window


@dataclass(frozen=True)
class SiteState:
    """All that actions have changed up to the hour that begins, of one copy of a site.

    Attributes:
        window: in which the copy runs.
        row: of the year that the next step covers.
        battery_soc: state of charge of each building's battery, shape (buildings,).
        tank_soc: of each building's tanks of cooling, heating and hot water, shape (buildings, 3).
        vehicle_soc: of each vehicle, shape (vehicles,); only those of vehicles that are plugged in have a meaning.
        previous_net_kwh: net import of the site in the hour before; None at the year's start.
        peaks_kw: the month's highest imports so far, in peak hours and outside; zeros without a demand charge.
        day_peak_kw: the day's highest import so far.
    """

    window: Window
    row: int
    battery_soc: np.ndarray
    tank_soc: np.ndarray
    vehicle_soc: np.ndarray
    previous_net_kwh: float | None
    peaks_kw: tuple[float, float]
    day_peak_kw: float


class PlannedHour(Protocol):
    """What model predictive control needs of the present hour."""

    @property
    def action_range(self) -> tuple[np.ndarray, np.ndarray]:
        """See `Present`."""

    def site_state(self, copy: int) -> SiteState | None:
        """See `Present`."""


class Present(Protocol):
    """The hour that the next step of each copy of a site covers.

    `envs.batch_backend.simulator.BatchSimulator` is one, and `present` of `envs.environments.site_env.SiteEnv`.
    """

    @property
    def action_range(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest value of each action in CityLearn, both of shape (actions,)."""

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
        """Whether imports cost more than in other hours, see `envs.objective.reference.Reference.dear`; shape (copies,)."""

    @property
    def uncontrolled_net_kwh(self) -> np.ndarray:
        """Net import of the uncontrolled site, shape (copies,)."""

    def uncontrolled_actions(self) -> np.ndarray:
        """Actions of the uncontrolled site, within [-1, 1], shape (copies, actions)."""

    def site_state(self, copy: int) -> SiteState | None:
        """State of a copy; None at the end of its window."""


def scaled(actions: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Convert actions from CityLearn's ranges to [-1, 1]; values outside their range are clipped.

    Args:
        actions: in CityLearn's ranges, shape (..., actions).
        low: least value of each, shape (actions,).
        high: greatest value of each, shape (actions,).

    Returns:
        Within [-1, 1], of the same shape; -1 for an action with a single value.
    """
    span = high - low
    return np.asarray((np.clip(actions, low, high) - low) / np.where(span > 0.0, span, 1.0) * 2.0 - 1.0)
