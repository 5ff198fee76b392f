"""Model predictive control: what an engineer would run instead of a learned policy.

Each hour it observes the site, forecasts the next hours, plans them by a linear programme (`envs.planning.mpc_programme`),
and carries out the first hour. It runs in the same simulators as policies and maximises the same reward, `improvement`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from envs.batch_backend.tables import USES
from envs.current_hour import PlannedHour, SiteState, scaled
from envs.forecasts import DEMANDS, EFFICIENCIES, SiteForecast
from envs.planning.mpc_programme import HourPlan, Plan, RecedingProgramme
from envs.planning.mpc_site import MpcSite, Need, Tanks, Vehicles
from envs.scenarios.scenario import Window
from envs.scenarios.tariff import month_shares

HORIZON = 24  # hours
# What an hour's wait takes from the worth of energy, as a part of the forecast's error: load that is forecast may not come, and
# nothing is lost by serving what is there. Measured on validation splits: 0.95 an hour is best for five homes with an error of
# 38 %, 0.99 for a mall with one of 9 %.
DOUBT = 0.12
STORED = 0.9  # part of the mean worth of import that a stored kilowatt-hour is worth at the end of the horizon

LEAST_EFFICIENCY = 0.1  # of a device, whatever is forecast: energies are divided by it


@dataclass(frozen=True)
class Plant:
    """One year of a site, as model predictive control knows it."""

    site: MpcSite
    vehicles: Vehicles
    forecast: SiteForecast


class ModelPredictiveControl:
    """A policy for the environment that `present` belongs to, looking `hours` ahead, the present one among them.

    `on_plan` is called with the state of a copy and the plan that is made in it; `on_hour` after each hour that was planned.
    """

    def __init__(
        self,
        present: PlannedHour,
        plants: Mapping[int, Plant],
        hours: int = HORIZON,
        programme: Callable[[MpcSite, int], RecedingProgramme] = RecedingProgramme,
        on_hour: Callable[[], None] | None = None,
        on_plan: Callable[[SiteState, Plan], None] | None = None,
    ) -> None:
        self._present, self._plants, self._hours, self._on_hour = present, plants, hours, on_hour
        self._on_plan = on_plan
        self._programme = programme
        self._programmes: dict[tuple[int, Window], RecedingProgramme] = {}
        self._shares: dict[Window, np.ndarray] = {}

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        """Actions of the hour within [-1, 1], shape (copies, actions); observations are not read."""
        low, high = self._present.action_range
        native = np.tile(np.clip(0.0, low, high), (len(observations), 1))
        for copy in range(len(observations)):
            state = self._present.site_state(copy)
            if state is not None:
                self._act(copy, state, native[copy])
        return scaled(native, low, high)

    def _act(self, copy: int, state: SiteState, actions: np.ndarray) -> None:
        plant = self._plants[state.window.year]
        key = copy, state.window
        if key not in self._programmes:
            self._programmes[key] = self._programme(plant.site, self._hours)
        hour, need = hour_plan(plant, state, self._hours, self._share(plant.site, state.window))
        plan = self._programmes[key].solve(hour)
        if self._on_plan:
            self._on_plan(state, plan)
        site = plant.site
        usable = site.battery_action >= 0
        actions[site.tanks.action] = plan.tank_kwh[:, 0] / site.tanks.capacity
        actions[site.battery_action[usable]] = (plan.battery_kwh[:, 0] / np.where(usable, site.nominal_power, 1.0))[usable]
        index, values = need.share(plan.charging_kwh[:, 0])
        actions[index] = values
        if self._on_hour:
            self._on_hour()

    def _share(self, site: MpcSite, window: Window) -> np.ndarray:
        if window not in self._shares:
            self._shares[window] = month_shares(site.month, window.start, window.hours)
        return self._shares[window]


def hour_plan(plant: Plant, state: SiteState, hours: int, month_share: np.ndarray) -> tuple[HourPlan, Need]:
    """Numbers of an hour's programme and what each vehicle needs, from what is known; `month_share` as of `month_shares`."""
    site, forecast, row = plant.site, plant.forecast, state.row
    worth, charged = site.worth, site.with_chargers
    # After the year's last hour the tariff and the calendar go on as a day before.
    known = forecast.calendar_rows(row, hours)
    import_worth = worth["co2"] * forecast.ahead("carbon", row, hours) + worth["cost"] * site.price[:, known]
    certainty = (1.0 - DOUBT * min(forecast.error, 1.0)) ** np.arange(hours)
    import_worth = import_worth * certainty
    base = forecast.ahead("load", row, hours) - forecast.ahead("pv", row, hours)
    need = plant.vehicles.need(row, state.vehicle_soc, hours, forecast.foresees)
    if not forecast.foresees and len(charged):
        base[charged] += forecast.arriving(row, hours)[charged]
    charge, must, can = need.limits(len(charged), hours)
    month = np.minimum(np.cumsum(np.diff(site.month[known], prepend=site.month[row]) != 0), 1)
    share = month_share[np.minimum(row - state.window.start + np.arange(hours), len(month_share) - 1)]
    months_share = np.array([share[0], share[-1]])
    peak_worth = np.zeros((2, 2))
    outside = np.zeros(hours, dtype=bool)
    if site.tariff:
        prices = np.array([site.tariff.peak_price, site.tariff.off_peak_excess_price])
        peak_worth = worth["cost"] * months_share[:, np.newaxis] * prices
        outside = ~np.isin(site.hour[known], site.tariff.peak_hours)
    mean_worth = import_worth.mean(axis=1)
    tanks = site.tanks
    demand, efficiency = _of_tanks(plant, row, hours)
    fill, tap = tanks.limits(demand, efficiency)
    held = state.tank_soc[tanks.building, tanks.use] * tanks.capacity
    heat_worth = (import_worth[tanks.building] / efficiency).mean(axis=1)
    return (
        HourPlan(
            row=row,
            base_kwh=base,
            import_worth=import_worth,
            certainty=certainty,
            stored_worth=STORED * site.root_out * mean_worth,
            stored_kwh=state.battery_soc * site.capacity,
            previous_net_kwh=state.previous_net_kwh,
            charge_kw=charge,
            must_kwh=must,
            can_kwh=can,
            served_worth=mean_worth[charged],
            month=month,
            outside=outside,
            peaks_kw=np.array([state.peaks_kw, (0.0, 0.0)]),
            peak_worth=peak_worth,
            day=np.cumsum(np.diff(site.hour[known], prepend=site.hour[row]) < 0),
            day_peak_kw=state.day_peak_kw,
            held_kwh=held,
            held_worth=STORED * tanks.root * heat_worth,
            held_most_kwh=_useful(tanks, held, tap),
            fill_kwh=fill,
            tap_kwh=tap,
            efficiency=efficiency,
        ),
        need,
    )


def _useful(tanks: Tanks, held_kwh: np.ndarray, tap_kwh: np.ndarray) -> np.ndarray:
    """Most heat or cold that is worth holding at the end of the horizon [kWh], shape (T,).

    It serves the hours after the horizon, of which the horizon's own demand says how much they need. Without this limit tanks
    would be filled for months without demand. What is held now and finds no use may stay.
    """
    stays = held_kwh * tanks.kept ** (tap_kwh.shape[1] - 1)
    return np.minimum(np.maximum(tap_kwh.sum(axis=1) / tanks.root, stays), tanks.capacity)


def _of_tanks(plant: Plant, row: int, hours: int) -> tuple[np.ndarray, np.ndarray]:
    """Forecasts of the demand [kWh] that each tank's device serves, and of its efficiency, both of shape (T, hours)."""
    tanks, forecast = plant.site.tanks, plant.forecast
    demand, efficiency = np.zeros((len(tanks), hours)), np.ones((len(tanks), hours))
    for use in np.unique(tanks.use).tolist():
        own = tanks.use == use
        demand[own] = forecast.ahead(DEMANDS[USES[use]], row, hours)[tanks.building[own]]
        efficiency[own] = forecast.ahead(EFFICIENCIES[USES[use]], row, hours)[tanks.building[own]]
    return demand, np.maximum(efficiency, LEAST_EFFICIENCY)
