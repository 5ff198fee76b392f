"""Model predictive control: what an engineer would run instead of a learned policy.

Each hour it observes the site, forecasts the next hours, plans them by a linear programme (`envs.planning.mpc_programme`),
and carries out the first hour. It runs in the same simulators as policies and maximises the same reward, `improvement`.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from envs.current_hour import Present, SiteState, scaled
from envs.forecasts import DEMANDS, EFFICIENCIES, Kind, SiteForecast
from envs.planning.mpc_programme import HourPlan, Plan, RecedingProgramme, RoomHours
from envs.planning.mpc_site import MpcSite, Need, Tanks, Vehicles, tank_uses
from envs.scenarios.scenario import Scenario, Window
from envs.scenarios.schema_shape import USES
from envs.scenarios.tariff import month_shares
from envs.seen import PLAN_HOURS

HORIZON = 24  # hours
MOST_STEPS_PER_HOUR = 4  # a day ahead of shorter steps is too many numbers
# What an hour's wait takes from the worth of energy, as a part of the forecast's error: load that is forecast may not come, and
# nothing is lost by serving what is there. Measured on validation splits: 0.95 an hour is best for five homes with an error of
# 38 %, 0.99 for a mall with one of 9 %.
DOUBT = 0.12
STORED = 0.9  # part of the mean worth of import that a stored kilowatt-hour is worth at the end of the horizon

# Errors of a room's model by which a plan stays within the comfort band. Of plans with yesterday's forecasts on the train
# splits of the 2023 data and of four buildings with cold storages, scores and parts of the hours outside the band:
# 0: +.209, 34 % and +.001, 32 %; 1: +.247, 3 % and +.069, 14 %; 1.5: +.242, 1 % and +.075, 12 %; 2: +.234, 1 % and +.077, 10 %.
MARGIN = 1.5

_KINDS: tuple[Kind, ...] = ("carbon", "load", "pv")
_OF_USES = (DEMANDS, EFFICIENCIES)
LEAST_EFFICIENCY = 0.1  # of a device, whatever is forecast: energies are divided by it


@dataclass(frozen=True)
class Plant:
    """One year of a site, as model predictive control knows it."""

    site: MpcSite
    vehicles: Vehicles
    forecast: SiteForecast
    steps: int  # that it looks ahead, the present one among them


OnPlan = Callable[[SiteState, Plan], object]


def hours_told(on_progress: Callable[[float], None] | None, total: int, before: int = 0) -> OnPlan | None:
    """What tells after each planned hour which part of all is done, those `before` among them; None where nobody listens."""
    done = itertools.count(before + 1)
    return (lambda *_: on_progress(next(done) / total)) if on_progress else None


class ModelPredictiveControl:
    """A policy for the environment that `present` belongs to.

    `on_plan` is called with the state of a copy and the plan that is made in it.
    """

    def __init__(self, present: Present, plants: Mapping[int, Plant], on_plan: OnPlan | None = None) -> None:
        self._present, self._plants, self._on_plan = present, plants, on_plan
        # With what each hour of the window pays of its month, see `month_shares`.
        self._programmes: dict[tuple[int, Window], tuple[RecedingProgramme, np.ndarray]] = {}

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
        window = state.window
        if (copy, window) not in self._programmes:
            share = month_shares(plant.site.month, window.start, window.hours)
            self._programmes[copy, window] = RecedingProgramme(plant.site, plant.steps), share
        programme, share = self._programmes[copy, window]
        hour, need = hour_plan(plant, state, share)
        plan = programme.solve(hour)
        if self._on_plan:
            self._on_plan(state, plan)
        carry_out(plant.site, plan, need, actions)


def horizon_steps(scenario: Scenario) -> int:
    """Steps of a scenario that a plan looks ahead, the present one among them."""
    return HORIZON * scenario.steps_per_hour


def carry_out(site: MpcSite, plan: Plan, need: Need, actions: np.ndarray) -> None:
    """Write the first hour of a plan into actions, shape (actions,), in CityLearn's ranges."""
    usable = site.battery_action >= 0
    actions[site.tanks.action] = plan.tank_kwh[:, 0] * site.steps_per_hour / site.tanks.capacity
    # One action may cool with its negative half and heat with the positive one.
    actions[site.rooms.action] = 0.0
    np.add.at(actions, site.rooms.action, site.rooms.sign * plan.device_use[:, 0])
    actions[site.battery_action[usable]] = (plan.battery_kwh[:, 0] / np.where(usable, site.nominal_power, 1.0))[usable]
    index, values = need.share(plan.charging_kwh[:, 0])
    actions[index] = values


@dataclass(frozen=True)
class Outlook:
    """What is known or forecast of the next H hours, the present one first, of N buildings and T tanks."""

    month: np.ndarray  # 1 to 12, shape (H,)
    hour: np.ndarray  # of the day, 0 to 23, shape (H,)
    price: np.ndarray  # of energy [currency/kWh], shape (N, H)
    carbon: np.ndarray  # carbon intensity [kg/kWh], shape (N, H)
    load_kwh: np.ndarray  # without batteries and vehicles, shape (N, H)
    pv_kwh: np.ndarray  # shape (N, H)
    coming_kwh: np.ndarray  # what vehicles will take that are not there yet, shape (N, H)
    demand_kwh: np.ndarray  # of heat or cold that each tank's device serves, shape (T, H)
    efficiency: np.ndarray  # of each tank's device, shape (T, H)
    error: float = 0.0  # of the forecasts, as a part: energy of later hours counts less
    rooms: RoomHours | None = None  # None where no devices act on rooms

    def programme(self, site: MpcSite, state: SiteState, need: Need, month_share: np.ndarray) -> HourPlan:
        """Numbers of the programme of the present hour; `month_share` of each hour as of `month_shares`, shape (H,)."""
        worth, charged, hours = site.worth, site.with_chargers, len(self.hour)
        import_worth = worth["co2"] * self.carbon + worth["cost"] * self.price
        certainty = (1.0 - DOUBT * min(self.error, 1.0)) ** (np.arange(hours) / site.steps_per_hour)
        import_worth = import_worth * certainty
        charge, must, can = need.limits(len(charged), hours)
        peak_worth = np.zeros((2, 2))
        outside = np.zeros(hours, dtype=bool)
        if site.tariff:
            prices = np.array([site.tariff.peak_price, site.tariff.off_peak_excess_price])
            peak_worth = worth["cost"] * month_share[[0, -1], np.newaxis] * prices
            outside = (self.hour[:, np.newaxis] != np.array(site.tariff.peak_hours)).all(axis=1)
        mean_worth = import_worth.mean(axis=1)
        tanks, efficiency = site.tanks, np.maximum(self.efficiency, LEAST_EFFICIENCY)
        rooms = self.rooms or RoomHours.none(hours)
        base = self.load_kwh - self.pv_kwh + self.coming_kwh
        # The load has what devices take without control.
        np.subtract.at(base, site.rooms.device_building, rooms.asked_kwh / rooms.efficiency)
        # Where the plan says what a device delivers, it knows itself what that leaves for the tank.
        free = site.rooms.fill(tanks).any(axis=1, keepdims=True)
        fill, tap = tanks.limits(np.where(free, 0.0, self.demand_kwh), efficiency)
        tap = np.where(free, np.maximum(tap, tanks.greatest_out[:, np.newaxis]), tap)
        held = state.tank_soc[tanks.building, tanks.use] * tanks.capacity
        heat_worth = (import_worth[tanks.building] / efficiency).mean(axis=1)
        return HourPlan(
            row=state.row,
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
            month=(self.month != self.month[0]).astype(np.int64),
            outside=outside,
            peaks_kw=np.array([state.peaks_kw, (0.0, 0.0)]),
            peak_worth=peak_worth,
            day=np.append(0, np.cumsum(self.hour[1:] < self.hour[:-1])),
            day_peak_kw=state.day_peak_kw,
            held_kwh=held,
            held_worth=STORED * tanks.root * heat_worth,
            held_most_kwh=_useful(tanks, held, np.minimum(self.demand_kwh, tap)),
            fill_kwh=fill,
            tap_kwh=tap,
            efficiency=efficiency,
            rooms=rooms,
        )


def hour_plan(plant: Plant, state: SiteState, month_share: np.ndarray) -> tuple[HourPlan, Need]:
    """Numbers of an hour's programme and what each vehicle needs, from what is known; `month_share` as of `month_shares`."""
    site, forecast, row, hours = plant.site, plant.forecast, state.row, plant.steps
    # After the year's last hour the tariff and the calendar go on as a day before.
    known = forecast.calendar_rows(row, hours)
    need = plant.vehicles.need(row, state.vehicle_soc, hours, forecast.foresees)
    carbon, load, pv = (forecast.ahead(kind, row, hours) for kind in _KINDS)
    coming = np.zeros_like(load)
    if not forecast.foresees and len(site.with_chargers):
        coming[site.with_chargers] = forecast.arriving(row, hours)[site.with_chargers]
    demand, efficiency = (_of_uses(plant, kinds, site.tanks.use, site.tanks.building, row) for kinds in _OF_USES)
    outlook = Outlook(
        site.month[known], site.hour[known], site.price[:, known], carbon, load, pv, coming, demand, efficiency, forecast.error,
        _of_rooms(plant, state, known) if len(site.rooms) else None,
    )  # fmt: skip
    share = month_share[np.minimum(row - state.window.start + np.arange(hours), len(month_share) - 1)]
    return outlook.programme(site, state, need, share), need


LEAST_KEPT = 1e-6  # a tank that loses all in an hour shows nothing of what it held


class PlannedHours(NamedTuple):
    """What policies see of plans, of one hour each.

    N buildings; of `envs.planning.mpc_site.planned_actions` U uses with a tank that acts, and actions of devices. Of a single
    hour all is without the first axis.
    """

    battery_kwh: np.ndarray  # what each battery takes in the hour, negative where it gives, shape (hours, N)
    # State of charge at the beginning of the hour, and as it is planned at the ends of `PLAN_HOURS` from the hour on, shape
    # (hours, N, 1 + len(PLAN_HOURS)).
    soc: np.ndarray
    net_kwh: np.ndarray  # planned net import of the site in the hour, shape (hours,)
    # What each tank takes, negative where it gives, as a part of its capacity an hour; shape (hours, N, U).
    tank_use: np.ndarray
    tank_soc: np.ndarray  # state of charge at the beginning of the hour as it is observed, before standby; shape (hours, N, U)
    device: np.ndarray  # actions of devices within [-1, 1], shape (hours, N, number)

    def in_order(self) -> np.ndarray:
        """The same in the order of `envs.seen.Seen.names`, shape (hours, observations)."""
        of_tanks = [np.stack([self.tank_use[..., u], self.tank_soc[..., u]], axis=-1) for u in range(self.tank_use.shape[-1])]
        by_building = np.concatenate([self.battery_kwh[..., np.newaxis], self.soc, *of_tanks, self.device], axis=-1)
        return np.concatenate([by_building.reshape(*by_building.shape[:-2], -1), self.net_kwh[..., np.newaxis]], axis=-1)


def planned_hour(site: MpcSite, actions: Sequence[str], state: SiteState, plan: Plan) -> PlannedHours:
    """What a policy sees of a plan's first hour; `actions` as of `planned_actions`."""
    tanks, of_uses, has = site.tanks, tank_uses(actions), site.power > 0.0
    battery = np.where(has, plan.battery_kwh[:, 0], 0.0)
    ends = (np.array(PLAN_HOURS) + 1) * site.steps_per_hour - 1
    planned = plan.stored_kwh[:, ends] / np.where(has, site.capacity, 1.0)[:, np.newaxis]
    soc = np.where(has[:, np.newaxis], np.column_stack([state.battery_soc, planned]), 0.0)
    use = tanks.scattered(plan.tank_kwh[:, 0] * site.steps_per_hour / tanks.capacity, site.buildings)[:, of_uses]
    # Between two hours a tank stands by, and what is observed of it is from before that.
    stood = tanks.kept if state.row else 1.0
    held = state.tank_soc[tanks.building, tanks.use] / np.maximum(stood, LEAST_KEPT)
    device = site.rooms.scattered(actions, plan.device_use[:, 0], site.buildings)
    tank_soc = tanks.scattered(held, site.buildings)[:, of_uses]
    return PlannedHours(battery, soc, plan.net_kwh[0], use, tank_soc, device)


def _useful(tanks: Tanks, held_kwh: np.ndarray, tap_kwh: np.ndarray) -> np.ndarray:
    """Most heat or cold that is worth holding at the end of the horizon [kWh], shape (T,).

    It serves the hours after the horizon, of which the horizon's own demand says how much they need. Without this limit tanks
    would be filled for months without demand. What is held now and finds no use may stay.
    """
    stays = held_kwh * tanks.kept ** (tap_kwh.shape[1] - 1)
    return np.minimum(np.maximum(tap_kwh.sum(axis=1) / tanks.root, stays), tanks.capacity)


def _of_uses(plant: Plant, kinds: Mapping[str, Kind], use: np.ndarray, building: np.ndarray, row: int) -> np.ndarray:
    """Forecasts of a kind of series by use, of uses and buildings of shape (any,); shape (any, hours)."""
    forecasts = np.zeros((len(use), plant.steps))
    for one in np.unique(use).tolist():
        alike = use == one
        forecasts[alike] = plant.forecast.ahead(kinds[USES[one]], row, plant.steps)[building[alike]]
    return forecasts


def _of_rooms(plant: Plant, state: SiteState, known: np.ndarray) -> RoomHours:
    """The next hours of the rooms; `known` are the rows whose calendar they have, shape (hours,)."""
    rooms, forecast, row, hours = plant.site.rooms, plant.forecast, state.row, plant.steps
    asked, efficiency = (_of_uses(plant, kinds, rooms.use, rooms.device_building, row) for kinds in _OF_USES)
    efficiency = np.maximum(efficiency, LEAST_EFFICIENCY)
    most = rooms.most_kwh[:, np.newaxis] * efficiency
    asked = np.where(rooms.runs[:, known], np.minimum(asked, most), 0.0)
    # At first devices do as without control, whatever the actions say.
    obeys = row - state.window.start + np.arange(hours) > rooms.lookback[:, np.newaxis]
    deviation, surplus = np.zeros(len(rooms)), np.zeros(len(rooms.room))
    if row > state.window.start + rooms.lookback.max():
        deviation = (state.indoor_c - forecast.before("indoor", row))[rooms.building]
        surplus = state.delivered_kwh[rooms.device_building, rooms.use] - np.array(
            [forecast.before(DEMANDS[USES[use]], row)[n] for n, use in zip(rooms.device_building, rooms.use, strict=True)]
        )
    usual, margin = forecast.ahead("indoor", row, hours)[rooms.building], MARGIN * rooms.error_c[:, np.newaxis]
    return RoomHours(
        asked_kwh=asked,
        least_kwh=np.where(obeys[rooms.room], 0.0, asked),
        most_kwh=np.where(obeys[rooms.room], np.where(rooms.runs[:, known], most, 0.0), asked),
        efficiency=efficiency,
        too_warm_c=rooms.above_c[:, known] - usual - margin,
        too_cold_c=usual - rooms.below_c[:, known] - margin,
        people=forecast.ahead("people", row, hours)[rooms.building],
        deviation_c=deviation,
        surplus_kwh=surplus,
    )
