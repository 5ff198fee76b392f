"""The interface of simulators: what an environment needs of one, and the present hour as rules and planning see it, on any backend."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from envs.objective.series import Exogenous, Run, Sessions
from envs.scenarios.scenario import Window


class Simulator(Protocol):
    """Steps one scenario year hour by hour, one run at a time.

    `envs.citylearn_backend.simulator.CityLearnSimulator` and `envs.batch_backend.simulator.OneCopy` are simulators. A row is an
    hour of the year; a step is an hour of the run. Actions are in CityLearn's ranges.
    """

    @property
    def exogenous(self) -> Exogenous:
        """Series of the year that no action can change."""

    @property
    def sessions(self) -> Sessions:
        """Charging sessions of the year."""

    @property
    def rows(self) -> int:
        """Rows of the year; there are `rows - 1` steps."""

    @property
    def action_low(self) -> np.ndarray:
        """Least value of each action, shape (actions,)."""

    @property
    def action_high(self) -> np.ndarray:
        """Greatest value of each action, shape (actions,)."""

    @property
    def battery_actions(self) -> np.ndarray:
        """Indices of the actions of stationary batteries, shape (batteries with an action,)."""

    @property
    def battery_power_kw(self) -> float:
        """Nominal power of these batteries together."""

    @property
    def row(self) -> int:
        """Row of the year that the next step covers."""

    @property
    def battery_soc(self) -> np.ndarray:
        """State of charge of each building's battery before the next step, shape (buildings,)."""

    @property
    def tank_soc(self) -> np.ndarray:
        """State of charge of each building's tanks of cooling, heating and hot water, shape (buildings, 3)."""

    @property
    def vehicle_soc(self) -> np.ndarray:
        """State of charge of each vehicle before the next step, shape (vehicles,); only of those that are plugged in."""

    def begin(self, start: int, hours: int, seed: int, charge: float = 0.0) -> np.ndarray:
        """Start a run at a row, with `start + hours` at most `rows - 1`; gives the raw observation, shape (observations,).

        `seed` is of the drift of vehicles that are not plugged in; `charge` of the stationary batteries, from 0 (as empty as
        they may be) to 1.
        """

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, float]:
        """Take one step with actions, shape (actions,), within their ranges.

        Returns:
            The next raw observation, and the schema's own reward, or 0 if the simulator was opened without it.
        """

    def net_kwh(self, step: int) -> np.ndarray:
        """Net consumption of each building in a step that was taken, shape (buildings,)."""

    def missing_kwh(self, row: int) -> float:
        """Energy that the vehicles lacked that left after the step at a row."""

    def run(self) -> Run:
        """The steps taken since `begin`."""

    def uncontrolled_actions(self) -> np.ndarray:
        """Storage idle, vehicles at full power until they are as full as required; shape (actions,)."""

    def citylearn_ratios(self) -> dict[str, float]:
        """CityLearn's own ratios by the names of its `evaluate()`; empty where the simulator cannot tell its baseline."""


# Opens a simulator of a year for the length of a `with` block: path of the `schema.json`, whether `step` returns the schema's
# own reward, and whether the scenario is trusted (`envs.scenarios.trust`).
Lend = Callable[[Path, bool, bool], AbstractContextManager[Simulator]]


@dataclass(frozen=True)
class SiteState:
    """All that actions have changed up to the hour that begins, of one copy of a site."""

    window: Window  # that the copy runs in
    row: int  # of the year that the next step covers
    battery_soc: np.ndarray  # states of charge of buildings' batteries, shape (buildings,)
    tank_soc: np.ndarray  # of their tanks of cooling, heating and hot water, shape (buildings, 3)
    vehicle_soc: np.ndarray  # shape (vehicles,); those of vehicles that are away mean nothing
    previous_net_kwh: float | None  # net import in the hour before; None at the year's start
    peaks_kw: tuple[float, float]  # the month's highest imports so far, in peak hours and outside; zeros without a charge
    day_peak_kw: float


class PlannedHour(Protocol):
    """What model predictive control needs of the present hour."""

    @property
    def action_range(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest value of each action in CityLearn, both of shape (actions,)."""

    def site_state(self, copy: int) -> SiteState | None:
        """State of a copy; None at the end of its window."""


class Present(PlannedHour, Protocol):
    """The hour that the next step of each copy of a site covers.

    `envs.batch_backend.simulator.BatchSimulator` is one, and `present` of `envs.environments.site_env.SiteEnv`.
    """

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


def scaled(actions: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Actions in CityLearn's ranges, shape (..., actions), as [-1, 1]; clipped, and -1 for an action with a single value."""
    span = high - low
    return np.asarray((np.clip(actions, low, high) - low) / np.where(span > 0.0, span, 1.0) * 2.0 - 1.0)
