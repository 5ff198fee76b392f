"""A policy's windows of one year joined into arrays: the input of every KPI formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from envs.objective.series import Exogenous, Run, Sessions, import_kwh
from envs.scenarios.tariff import DemandCharge, demand_costs


@dataclass(frozen=True)
class Part:
    """A run and the step of its year at which it starts."""

    start: int
    run: Run


@dataclass(frozen=True)
class JoinedRun:
    """A policy's run over one or more windows of a year. Shapes: N buildings, H hours of all windows together.

    Attributes:
        parts: the runs, one per window.
        series: of the year.
        sessions: of the year; only those that lie within a window count.
        tariff: its demand charge; None where there is none.
    """

    parts: Sequence[Part]
    series: Exogenous
    sessions: Sessions
    tariff: DemandCharge | None

    @cached_property
    def net_kwh(self) -> np.ndarray:
        """Import less export of each building, shape (N, H)."""
        return np.concatenate([part.run.net_kwh for part in self.parts], axis=1)

    @cached_property
    def battery_kwh(self) -> np.ndarray:
        """What stationary batteries took (positive) or gave, shape (N, H)."""
        return np.concatenate([part.run.battery_kwh for part in self.parts], axis=1)

    @cached_property
    def pv_kwh(self) -> np.ndarray:
        """PV generation, shape (N, H)."""
        return self._hours(self.series.pv_kwh)

    @cached_property
    def price(self) -> np.ndarray:
        """Price of energy [currency/kWh], shape (N, H)."""
        return self._hours(self.series.price)

    @cached_property
    def carbon(self) -> np.ndarray:
        """Carbon intensity [kg CO2/kWh], shape (N, H)."""
        return self._hours(self.series.carbon)

    @cached_property
    def import_kwh(self) -> np.ndarray:
        """Energy drawn from the grid, every building metered by itself, shape (N, H)."""
        return import_kwh(self.net_kwh)

    @cached_property
    def site_net_kwh(self) -> tuple[np.ndarray, ...]:
        """Net import of all buildings together in each window, each of shape (hours of the window,)."""
        return tuple(part.run.net_kwh.sum(axis=0) for part in self.parts)

    @cached_property
    def demand_charge(self) -> float:
        """Demand charge of all windows [currency]."""
        month, hour = self.series.month[:-1], self.series.hour[:-1]
        return sum(
            float(demand_costs(self.tariff, month, hour, import_kwh(site), part.start).sum())
            for part, site in zip(self.parts, self.site_net_kwh, strict=True)
        )

    @cached_property
    def required_kwh(self) -> float:
        """Energy that departing vehicles required."""
        return float(sum(self.sessions.required_kwh[inside].sum() for inside in self._inside))

    @cached_property
    def missing_kwh(self) -> np.ndarray:
        """Energy that each departing vehicle lacked, shape (departures,)."""
        return np.concatenate([part.run.missing_kwh[inside] for part, inside in zip(self.parts, self._inside, strict=True)])

    @cached_property
    def _inside(self) -> list[np.ndarray]:
        """Which sessions lie within each window, each of shape (sessions,)."""
        return [self.sessions.within(part.start, part.run.net_kwh.shape[1]) for part in self.parts]

    def _hours(self, values: np.ndarray) -> np.ndarray:
        """The windows' hours of a series of the year, shape (N, H)."""
        rows = [slice(part.start, part.start + part.run.net_kwh.shape[1]) for part in self.parts]
        return np.concatenate([values[:, part] for part in rows], axis=1)
