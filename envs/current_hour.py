"""The present hour of a site as rules and model predictive control see it, on any backend."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from envs.scenarios.scenario import Window


@dataclass(frozen=True)
class SiteState:
    """All that actions have changed up to the hour that begins, of one copy of a site."""

    window: Window  # that the copy runs in
    row: int  # of the year that the next step covers
    battery_soc: np.ndarray  # states of charge of buildings' batteries, shape (buildings,)
    tank_soc: np.ndarray  # of their tanks of cooling, heating and hot water, shape (buildings, 3)
    vehicle_soc: np.ndarray  # shape (vehicles,); those of vehicles that are away mean nothing
    previous_net_kwh: float | None  # net import in the hour before; None at the year's start
    # The month's highest imports so far, in peak hours and outside, zeros without a charge, and the day's: in kWh of a step,
    # which is kW where a step is an hour.
    peaks_kw: tuple[float, float]
    day_peak_kw: float
    # Of the hour before: temperature [C], shape (buildings,), and heat or cold that was delivered [kWh], shape (buildings, 3).
    # NaN where no model computes a temperature, and in a window's first hour; empty where the site has no such model.
    indoor_c: np.ndarray = field(default_factory=lambda: np.zeros(0))
    delivered_kwh: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))


class Present(Protocol):
    """The hour that the next step of each copy covers: `BatchSimulator` is one, and `present` of `SiteEnv`."""

    @property
    def action_range(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest value of each action in CityLearn, both of shape (actions,)."""

    def site_state(self, copy: int) -> SiteState | None:
        """State of a copy; None at the end of its window."""

    @property
    def battery_actions(self) -> np.ndarray:
        """Indices of the actions of stationary batteries."""

    @property
    def battery_step_kwh(self) -> float:
        """What these batteries take in a step at their nominal power."""

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


def scaled(actions: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Actions in CityLearn's ranges, shape (..., actions), as [-1, 1]; clipped, and -1 for an action with a single value."""
    span = high - low
    return np.asarray((np.clip(actions, low, high) - low) / np.where(span > 0.0, span, 1.0) * 2.0 - 1.0)
