"""Model predictive control of a site that runs: the caller says each step what is known, and gets actions.

    control = LiveController.load(Path("mall-controller/mpc.npz"))
    plan = control.plan(outlook, battery_soc, vehicles, imported)
    charge = plan.actions

It solves the same programme as in simulations, so with the same forecasts and states it gives the same actions. What a policy
sees of a plan, it gives as well: `seen`, to be appended to the site's own observations.
"""

import json
import math
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from common.errors import UsageError
from envs.batch_backend.tables import Tables
from envs.current_hour import SiteState
from envs.objective.series import DayPeak
from envs.planning.mpc import HORIZON, Outlook, carry_out, planned_hour
from envs.planning.mpc_programme import Plan, RecedingProgramme
from envs.planning.mpc_site import MpcSite, Need, Rooms, Tanks, planned_actions
from envs.scenarios.scenario import Window
from envs.scenarios.tariff import DemandCharge, MonthPeaks
from envs.seen import PLAN_HOURS

FILE = "mpc.npz"
_OF_TANKS, _ALONE = "tank_", ("tariff", "worth", "tanks", "rooms")


@dataclass(frozen=True)
class Plugged:
    """A vehicle that is plugged in."""

    action: int  # index of its charger's action
    missing_kwh: float  # that its battery lacks of what it is to leave with
    hours: int  # until it leaves, the present one among them; steps, where these are shorter


@dataclass(frozen=True)
class LivePlan:
    """The plan of an hour."""

    actions: np.ndarray  # of the hour, in CityLearn's ranges, shape (actions,)
    plan: Plan  # all hours
    seen: np.ndarray  # what a policy with a plan sees of it, in the order of `envs.seen.Seen.names`, shape (observations,)


class LiveController:
    """Plans hour after hour of a site; see the module. N buildings.

    It counts the month's and the day's highest imports itself, from the imports that it is told.
    """

    def __init__(self, site: MpcSite, planned: Sequence[str], chargers: dict[str, np.ndarray], idle: np.ndarray) -> None:
        self.site, self.planned = site, tuple(planned)
        self._chargers, self._idle = chargers, idle
        self._steps = HORIZON * site.steps_per_hour
        self._programme = RecedingProgramme(site, self._steps)
        self._month = MonthPeaks(site.tariff) if site.tariff else None
        self._day, self._days, self._row = DayPeak(), 0, 0
        self._last: Outlook | None = None

    def plan(
        self,
        outlook: Outlook,
        battery_soc: np.ndarray,
        vehicles: Sequence[Plugged] = (),
        imported_kwh: float | None = None,
        tank_soc: np.ndarray | None = None,
    ) -> LivePlan:
        """Plan the steps of an outlook; call it once for each step, in their order.

        Args:
            outlook: what is known of the present hour and forecast of the following ones.
            battery_soc: states of charge of the buildings' batteries at its beginning, 0 to 1, shape (N,).
            vehicles: those that are plugged in.
            imported_kwh: net import of the site in the hour before; None in the first hour.
            tank_soc: states of charge of the tanks of cooling, heating and hot water, shape (N, 3); None without tanks.

        Raises:
            UsageError: for a value that is no number, or of another shape, or an action that is no charger's.
            MpcError: if the solver finds no plan.
        """
        site = self.site
        tank_soc = np.zeros((site.buildings, 3)) if tank_soc is None else np.asarray(tank_soc, np.float64)
        self._check(outlook, battery_soc, tank_soc, imported_kwh)
        need = self._need(vehicles)
        # Nothing was counted before: after an error the same hour can be planned again.
        self._count(outlook, imported_kwh)
        if len(outlook.hour) != self._steps:
            self._steps = len(outlook.hour)
            self._programme = RecedingProgramme(site, self._steps)
        peaks = (self._month.peak_kw, self._month.off_peak_kw) if self._month else (0.0, 0.0)
        # A site that runs has no window: its months are whole, and its rows are the hours since the start.
        state = SiteState(
            Window(0, 0, 1), self._row, np.asarray(battery_soc, np.float64), tank_soc, np.zeros(0), imported_kwh, peaks,
            self._day.kw,
        )  # fmt: skip
        plan = self._programme.solve(outlook.programme(site, state, need, np.ones(len(outlook.hour))))
        actions = self._idle.copy()
        carry_out(site, plan, need, actions)
        seen = planned_hour(site, self.planned, state, plan).in_order().astype(np.float32)
        self._row, self._last = self._row + 1, outlook
        return LivePlan(actions, plan, seen)

    def _check(self, outlook: Outlook, battery_soc: np.ndarray, tank_soc: np.ndarray, imported_kwh: float | None) -> None:
        buildings, tanks, hours = self.site.buildings, len(self.site.tanks), len(outlook.hour)
        one = self.site.steps_per_hour
        if hours < (least := (PLAN_HOURS[-1] + 1) * one):
            raise UsageError(f"the outlook has {hours} steps; a plan takes at least {least}, {HORIZON * one} are usual")
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(
            ("price", "carbon", "load_kwh", "pv_kwh", "coming_kwh"), (buildings, hours)
        )
        shapes |= {"month": (hours,), "hour": (hours,), "demand_kwh": (tanks, hours), "efficiency": (tanks, hours)}
        given = {name: getattr(outlook, name) for name in shapes} | {"battery_soc": battery_soc, "tank_soc": tank_soc}
        for name, shape in (shapes | {"battery_soc": (buildings,), "tank_soc": (buildings, 3)}).items():
            values = np.asarray(given[name])
            if values.shape != shape:
                raise UsageError(f"{name} has the shape {values.shape}; this site needs {shape}")
            if not np.isfinite(values).all():
                raise UsageError(f"{name} has a value that is no number")
            if name.endswith("_soc") and not ((values >= 0.0) & (values <= 1.0)).all():
                raise UsageError(f"{name} has a value outside 0 to 1, which is a part of the capacity")
        if imported_kwh is not None and not math.isfinite(imported_kwh):
            raise UsageError("imported_kwh is no number")

    def _count(self, outlook: Outlook, imported_kwh: float | None) -> None:
        month, hour = int(outlook.month[0]), int(outlook.hour[0])
        if self._last is not None and imported_kwh is not None:
            before = int(self._last.hour[0])
            if self._month:
                self._month.add(before, imported_kwh)
            self._day.add(imported_kwh)
            self._days += hour < before
        if self._month:
            self._month.enter(month)
        self._day.enter(self._days)

    def _need(self, vehicles: Sequence[Plugged]) -> Need:
        action = np.array([vehicle.action for vehicle in vehicles], np.int64)
        index = np.searchsorted(self._chargers["action"], action)
        known = np.isin(action, self._chargers["action"])
        if not known.all():
            raise UsageError(f"action {action[~known][0]} is no charger's; these are {self._chargers['action'].tolist()}")
        if len(set(action)) < len(action):
            raise UsageError("vehicles has two of one action; a charger has one vehicle at a time")
        for each in vehicles:
            if each.hours < 1 or not 0.0 <= each.missing_kwh < math.inf:
                raise UsageError(f"{each} is no vehicle that is plugged in: it stays an hour or more, and lacks 0 kWh or more")
        power, efficiency = self._chargers["power"][index], self._chargers["efficiency"][index]
        last = np.array([vehicle.hours for vehicle in vehicles], np.int64) - 1
        missing = np.array([vehicle.missing_kwh for vehicle in vehicles], np.float64)
        energy = np.clip(missing / efficiency, 0.0, power * (last + 1))
        part = np.divide(np.minimum(energy, power), power, out=np.zeros(len(power)), where=power > 0.0)
        return Need(self._chargers["building"][index], action, power, energy, np.zeros_like(last), last, part)

    @classmethod
    def of(cls, tables: Tables, site: MpcSite) -> Self:
        """Control of a site from its tables, with what model predictive control knows of it."""
        charger, action = tables.site["charger"], tables.site["action"]
        acts = charger[charger["action"] >= 0]
        acts = acts[np.argsort(acts["action"])]
        chargers = {
            "action": acts["action"], "building": np.searchsorted(site.with_chargers, acts["building"]),
            "power": acts["charge_max"] / site.steps_per_hour, "efficiency": acts["efficiency"],
        }  # fmt: skip
        return cls(site, planned_actions(tables), chargers, np.clip(0.0, action["low"], action["low"] + action["span"]))

    def save(self, path: Path) -> None:
        """Write a file that `load` reads. Series of the site's own year are left out."""
        site, none = self.site, np.zeros(0)
        arrays: dict[str, Any] = {name.name: getattr(site, name.name) for name in fields(site) if name.name not in _ALONE}
        arrays |= {"price": none, "month": none, "hour": none, "idle": self._idle}
        arrays |= {f"{_OF_TANKS}{name.name}": getattr(site.tanks, name.name) for name in fields(Tanks)}
        arrays |= {f"charger_{name}": values for name, values in self._chargers.items()}
        facts = {"worth": site.worth, "tariff": asdict(site.tariff) if site.tariff else None, "planned": self.planned}
        np.savez(path, facts=np.array(json.dumps(facts)), **arrays)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Control of a file that `save` wrote. Raises a UsageError for another file."""
        try:
            with np.load(path) as saved:
                arrays = {name: saved[name] for name in saved.files}
            facts = json.loads(str(arrays.pop("facts")))
            tanks = Tanks(**{name.name: arrays.pop(f"{_OF_TANKS}{name.name}") for name in fields(Tanks)})
            chargers = {name: arrays.pop(f"charger_{name}") for name in ("action", "building", "power", "efficiency")}
            tariff = facts["tariff"]
            charge = DemandCharge(**{**tariff, "peak_hours": tuple(tariff["peak_hours"])}) if tariff else None
            idle = arrays.pop("idle")
            arrays["steps_per_hour"] = int(arrays["steps_per_hour"])
            site = MpcSite(**arrays, tanks=tanks, rooms=Rooms.none(), tariff=charge, worth=facts["worth"])
            return cls(site, facts["planned"], chargers, idle)
        except (OSError, EOFError, zipfile.BadZipFile, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{path} is no file of model predictive control, as an export writes it: {error}") from error
