"""The interface of simulators: everything that an environment needs of one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import numpy as np

from envs.objective.series import Exogenous, Run, Sessions


class Simulator(Protocol):
    """Steps one scenario year hour by hour, one run at a time.

    `envs.citylearn_backend.simulator.CityLearnSimulator` and `envs.batch_backend.one_copy.OneCopy` are simulators. A row is an
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
