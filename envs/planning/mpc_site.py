"""A site as the linear programme of model predictive control knows it: its batteries, tanks, rooms and vehicles.

A device serves a building's demand of cooling, heating or hot water, and fills the tank with what it could deliver more. The
tank gives what the device then need not. So a tank moves electricity in time like a battery, by the efficiency of its device.

Where a policy says what a device delivers, a room becomes warmer or colder than on the uncontrolled site, where the device
delivers what the building's own controller asks for. Of that deviation d, by deliveries that are q more, an hour makes

    d after = kept * d before + now * q in the hour + later * q in the hour before

with factors that are fitted on the train split, see `envs.environments.year_rooms`.

The programme sees the vehicles of a building as one: after each hour they must have been given some energy and can have been
given some more. So its structure does not depend on who is plugged in. The lower limit serves everyone as late as possible, the
upper one as early as possible. Both are exact for the present hour, which is all that is carried out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from envs.batch_backend import records
from envs.batch_backend.tables import Tables
from envs.objective.reference import Reference
from envs.objective.reward import coefficients
from envs.objective.weights import DEFAULT, Weights
from envs.scenarios.schema_shape import USES
from envs.scenarios.tariff import DemandCharge
from envs.seen import TANK_ACTION


@dataclass(frozen=True)
class Tanks:
    """The T tanks of a site year that have an action."""

    building: np.ndarray  # of each, shape (T,)
    use: np.ndarray  # index in `USES`, shape (T,)
    action: np.ndarray  # its index, shape (T,)
    capacity: np.ndarray  # heat or cold that it holds [kWh], shape (T,)
    root: np.ndarray  # part of the heat that is left one way, in and out, shape (T,)
    kept: np.ndarray  # part of the charge that a step of standby leaves, shape (T,)
    device_kw: np.ndarray  # nominal power of its device, electric; it can take as many kWh in a step, shape (T,)
    greatest_in: np.ndarray  # by the tank itself and the range of its action, in a step [kWh], shape (T,)
    greatest_out: np.ndarray  # likewise

    @classmethod
    def of(cls, tables: Tables) -> Tanks:
        """Tanks of a year, from its tables."""
        thermal = tables.site["thermal"]
        building, use = np.nonzero((thermal["action"] >= 0) & (thermal["capacity"] > 0.0))
        tank = thermal[building, use]
        action = tables.site["action"][tank["action"]]
        # An action is the part of its capacity that a tank takes an hour.
        filled = tank["capacity"] * tables.site["building"]["step_hours"][building]
        most_in, most_out = (action["low"] + action["span"]) * filled, -action["low"] * filled
        return cls(
            building=building,
            use=use,
            action=tank["action"],
            capacity=tank["capacity"],
            root=tank["root_efficiency"],
            kept=tank["kept"],
            device_kw=tank["device_power"],
            greatest_in=np.fmin(tank["greatest_input"], most_in),
            greatest_out=np.fmin(tank["greatest_output"], most_out),
        )

    def __len__(self) -> int:
        """Number of tanks."""
        return len(self.building)

    def limits(self, demand_kwh: np.ndarray, efficiency: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Most heat that tanks can take, above their demand, and give in a step [kWh]; arguments of shape (T, steps)."""
        spare = np.maximum(self.device_kw[:, np.newaxis] * efficiency - demand_kwh, 0.0)
        return np.minimum(spare, self.greatest_in[:, np.newaxis]), np.minimum(demand_kwh, self.greatest_out[:, np.newaxis])

    def scattered(self, values: np.ndarray, buildings: int) -> np.ndarray:
        """Values of tanks, shape (T,), in the places of their buildings and uses, shape (N, 3), zero elsewhere."""
        by_use = np.zeros((buildings, len(USES)), dtype=values.dtype)
        by_use[self.building, self.use] = values
        return by_use


_TANKS = tuple(f"{use}{TANK_ACTION}" for use in USES)
_DEVICES = (*(f"{use}_device" for use in USES), "cooling_or_heating_device")
PLANNED = (*_TANKS, *_DEVICES)  # actions that a plan may have beside those of batteries and chargers, by their names


def planned_actions(tables: Tables) -> tuple[str, ...]:
    """Those of `PLANNED` that some building of a year has."""
    acts = {_TANKS[use] for use in Tanks.of(tables).use} | {_DEVICES[kind] for kind in _kinds(tables)}
    return tuple(name for name in PLANNED if name in acts)


def _kinds(tables: Tables) -> np.ndarray:
    """Which of `_DEVICES` each device is that obeys actions, in the order of buildings and uses."""
    action = tables.site["thermal"]["device_action"]
    building, use = np.nonzero(action >= 0)
    # One action may be of two devices.
    shared = (action[building] == action[building, use][:, np.newaxis]).sum(axis=1) > 1
    return np.where(shared, len(USES), use)


def tank_uses(actions: Sequence[str]) -> list[int]:
    """Indices in `USES` of the tanks among the actions of a plan."""
    return [_TANKS.index(name) for name in actions if name in _TANKS]


@dataclass(frozen=True)
class RoomModels:
    """How temperatures answer to what devices deliver, see the module; N buildings, zero where nothing acts."""

    kept: np.ndarray  # part of a deviation that an hour leaves, shape (N,)
    error_c: np.ndarray  # standard deviation of what the model is wrong by after an hour [C], shape (N,)
    now: np.ndarray  # degrees by a kilowatt-hour of cold or heat in its hour, shape (N, 3)
    later: np.ndarray  # in the hour after it, shape (N, 3)


@dataclass(frozen=True)
class Rooms:
    """The R rooms of a site year: buildings with a computed temperature; and the D devices that act on them."""

    building: np.ndarray  # of each room, shape (R,)
    kept: np.ndarray  # see the module, shape (R,)
    error_c: np.ndarray  # see `RoomModels`, shape (R,)
    lookback: np.ndarray  # hours of a run after which devices obey actions, shape (R,)
    above_c: np.ndarray  # temperature from which it is too warm, shape (R, steps). The site sets it, so it is known ahead
    below_c: np.ndarray  # and from which it is too cold
    room: np.ndarray  # index of each device's room, shape (D,)
    use: np.ndarray  # index in `USES`, shape (D,)
    action: np.ndarray  # index of its action, shape (D,)
    kind: np.ndarray  # of that action, index in `_DEVICES`, shape (D,)
    low: np.ndarray  # least value of that action, shape (D,)
    span: np.ndarray  # greatest value less the least, shape (D,)
    sign: np.ndarray  # of the actions at which it runs, shape (D,)
    most_kwh: np.ndarray  # electricity of its full action in a step, shape (D,)
    runs: np.ndarray  # whether the site's mode lets it run, shape (D, steps); known ahead
    now: np.ndarray  # see the module, shape (D,)
    later: np.ndarray  # likewise

    @classmethod
    def of(cls, tables: Tables, models: RoomModels) -> Rooms:
        """Rooms of a year, from its tables."""
        thermal, exogenous = tables.site["thermal"], tables.exogenous
        device, use = np.nonzero(thermal["device_action"] >= 0)
        building, room = np.unique(device, return_inverse=True)
        steps, devices = len(exogenous.hour) - 1, thermal[device, use]
        action = tables.site["action"][devices["device_action"]]
        mode = np.where(use == records.COOLING, records.COOLS, records.HEATS)
        return cls(
            building=building,
            kept=models.kept[building],
            error_c=models.error_c[building],
            lookback=tables.site["building"]["lookback"][building],
            above_c=(exogenous.cool_above_c + exogenous.band_c)[building, :steps],
            below_c=(exogenous.heat_below_c - exogenous.band_c)[building, :steps],
            room=room,
            use=use,
            action=devices["device_action"],
            kind=_kinds(tables),
            low=action["low"],
            span=action["span"],
            sign=devices["device_sign"],
            most_kwh=devices["device_power"] * devices["device_hours"],
            runs=tables.rows["meter"]["mode"][:steps, device].T & mode[:, np.newaxis] > 0,
            now=models.now[device, use],
            later=models.later[device, use],
        )

    @classmethod
    def none(cls) -> Rooms:
        """No rooms."""
        wide = ("above_c", "below_c", "runs")
        return cls(**{name.name: np.zeros((0, 0) if name.name in wide else 0, dtype=np.int64) for name in fields(cls)})

    def __len__(self) -> int:
        """Number of rooms."""
        return len(self.building)

    def fill(self, tanks: Tanks) -> np.ndarray:
        """Whether a tank is filled by a device, shape (T, D)."""
        return np.asarray((tanks.building[:, np.newaxis] == self.device_building) & (tanks.use[:, np.newaxis] == self.use))

    def scattered(self, actions: Sequence[str], device_use: np.ndarray, buildings: int) -> np.ndarray:
        """Actions within [-1, 1] of devices at parts of their power, (D,), by building and device of `actions`; (N, any)."""
        names = [name for name in actions if name in _DEVICES]
        values = np.zeros((buildings, len(names)))
        for n, kind in {(int(n), int(kind)) for n, kind in zip(self.device_building, self.kind, strict=True)}:
            alike = (self.device_building == n) & (self.kind == kind)
            wish, low, span = (self.sign[alike] * device_use[alike]).sum(), self.low[alike][0], self.span[alike][0]
            values[n, names.index(_DEVICES[kind])] = np.clip((wish - low) / (span or 1.0) * 2.0 - 1.0, -1.0, 1.0)
        return values

    @property
    def device_building(self) -> np.ndarray:
        """Building of each device, shape (D,)."""
        return self.building[self.room]


_GRID = np.linspace(0.0, 1.0, 101)  # powers at which a curve is fitted, as parts of the nominal power


@dataclass(frozen=True)
class MpcSite:
    """Numbers of a site year. N buildings, M of them with chargers that can be controlled."""

    power: np.ndarray  # greatest power of each battery that has an action, else 0 [kW], shape (N,)
    least: np.ndarray  # charge of each battery [kWh], shape (N,)
    most: np.ndarray  # likewise
    root_in: np.ndarray  # energy stored of a kilowatt-hour taken, shape (N,)
    root_out: np.ndarray  # energy given of a kilowatt-hour drawn, shape (N,)
    kept: np.ndarray  # part of the charge above the least that an hour of standby leaves, shape (N,)
    nominal_power: np.ndarray  # of each battery [kW], shape (N,)
    capacity: np.ndarray  # of each battery [kWh], shape (N,)
    battery_action: np.ndarray  # index of each battery's action, -1 for none, shape (N,)
    # Lines above the curve of the greatest power, as (building, part of the nominal power at no charge, slope over the state of
    # charge), shape (lines, 3).
    taper: np.ndarray
    price: np.ndarray  # of energy, shape (N, steps). A tariff is published, so it is known for the next hours
    month: np.ndarray  # of each step, shape (steps,)
    hour: np.ndarray  # likewise
    tariff: DemandCharge | None
    worth: dict[str, float]  # what a unit of each term is worth, see `envs.objective.reward.coefficients`
    with_chargers: np.ndarray  # buildings with chargers that can be controlled, shape (M,)
    tanks: Tanks
    rooms: Rooms
    steps_per_hour: int = 1  # powers are the energy of a step [kWh], and what stays after an hour is what stays after a step

    @property
    def buildings(self) -> int:
        """Number of buildings."""
        return len(self.power)

    @classmethod
    def of(cls, tables: Tables, reference: Reference, weights: Weights = DEFAULT, models: RoomModels | None = None) -> MpcSite:
        """Numbers of a year from its tables, its uncontrolled run, the weights of the reward's terms and its rooms' models."""
        buildings, site = len(tables.site["building"]), tables.site
        battery, curves = site["battery"][:buildings], site["battery_curve"][:buildings]
        steps, one = reference.run.net_kwh.shape[1], reference.exogenous.steps_per_hour
        usable = site["building"]["battery_action"] >= 0
        roots = np.array([_roots(record, curve) for record, curve in zip(battery, curves, strict=True)])
        greatest = np.where(battery["power_points"] > 0, battery["nominal_power"], battery["flat_power"])
        charger = site["charger"]
        return cls(
            power=np.where(usable, greatest, 0.0) / one,
            least=battery["minimum_energy"],
            most=np.maximum(battery["capacity"], battery["minimum_energy"]),
            root_in=roots[:, 0],
            root_out=roots[:, 1],
            kept=battery["kept"],
            nominal_power=battery["nominal_power"] / one,
            capacity=battery["capacity"],
            battery_action=site["building"]["battery_action"],
            taper=_taper(battery, curves, usable),
            price=reference.exogenous.price[:, :steps],
            month=reference.exogenous.month[:steps],
            hour=reference.exogenous.hour[:steps],
            tariff=reference.tariff,
            worth=coefficients(reference.scale, weights),
            with_chargers=np.unique(charger["building"][charger["action"] >= 0]),
            tanks=Tanks.of(tables),
            rooms=Rooms.of(tables, models) if models else Rooms.none(),
            steps_per_hour=one,
        )


def curve_roots(battery: np.void, curve: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Root of a battery's efficiency, its loss one way, at parts of its nominal power, shape (P,); curve (2, 2, points)."""
    points = int(battery["efficiency_points"])
    if not points:
        return np.full(len(part), float(battery["flat_root"]))
    return np.sqrt(_on_curve(curve[records.EFFICIENCY_CURVE, :, :points], np.clip(part, 0.0, 1.0)))


def _on_curve(curve: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Piecewise linear and extrapolating, as CityLearn reads a curve of shape (2, points)."""
    x, y = curve
    i = np.clip(np.searchsorted(x, value, side="left") - 1, 0, len(x) - 2)
    return np.asarray(y[i] + (y[i + 1] - y[i]) * (value - x[i]) / (x[i + 1] - x[i]))


def _roots(battery: np.void, curve: np.ndarray) -> tuple[float, float]:
    """Slopes of the lines through zero that fit what is stored over what is taken, and what is given over what is drawn."""
    part = _GRID[1:]
    root = curve_roots(battery, curve, part)
    weight = part**2
    return float((weight * root).sum() / weight.sum()), float(weight.sum() / (weight / root).sum())


def _taper(battery: np.ndarray, curves: np.ndarray, usable: np.ndarray) -> np.ndarray:
    """Lines of the concave hull of each battery's greatest power, see `MpcSite.taper`; a level line is left to the bounds."""
    lines = []
    for n in np.flatnonzero(usable & (battery["power_points"] > 0)):
        level = _GRID
        power = np.maximum(_on_curve(curves[n, records.POWER_CURVE, :, : int(battery["power_points"][n])], level), 0.0)
        at = 0
        while at < len(level) - 1:
            slopes = (power[at + 1 :] - power[at]) / (level[at + 1 :] - level[at])
            # The last of the steepest: rounding must not split a straight line.
            best = at + 1 + int(np.flatnonzero(slopes >= slopes.max() - 1e-9)[-1])
            slope = float(slopes.max())
            lines.append((float(n), float(power[at] - slope * level[at]), slope))
            at = best
    return np.array(lines).reshape(-1, 3)


_ACTIONS = np.linspace(0.0, 1.0, 201)  # actions at which the energy that arrives in a battery is tabled

# Of these, a charger's and a battery's, the energy depends that an action delivers.
_CHARGER = ("charge_max", "charge_min", "efficiency", "charge_points")
_BATTERY = ("nominal_power", "power_points", "efficiency_points", "flat_power", "flat_root")


@dataclass(frozen=True)
class Need:
    """Vehicles that need energy in the next hours; V vehicles."""

    building: np.ndarray  # index of the building among those with chargers, shape (V,)
    action: np.ndarray  # index of the charger's action, shape (V,)
    power: np.ndarray  # greatest power at the meter [kW], shape (V,)
    energy: np.ndarray  # needed at the meter [kWh], never more than full power can deliver, shape (V,)
    first: np.ndarray  # hours until it arrives; 0 where it is plugged in, shape (V,)
    last: np.ndarray  # hours until its last hour, shape (V,)
    part: np.ndarray  # action that delivers its energy where one hour is enough for it, shape (V,)

    def limits(self, buildings: int, hours: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Greatest power in each hour, least and most energy after it of each building's vehicles, each (buildings, hours)."""
        after = np.arange(hours)
        there = (self.first[:, np.newaxis] <= after) & (after <= self.last[:, np.newaxis])
        energy, power = self.energy[:, np.newaxis], self.power[:, np.newaxis]
        taken = np.clip(np.minimum(after, self.last[:, np.newaxis]) - self.first[:, np.newaxis] + 1, 0, None)
        can = np.minimum(energy, power * taken)
        left = np.clip(self.last[:, np.newaxis] - after, 0, None)
        must = np.clip(energy - power * left, 0.0, can)
        each = np.where(there, np.minimum(power, energy), 0.0), must, can
        total = np.zeros((3, buildings, hours))
        for sums, values in zip(total, each, strict=True):
            np.add.at(sums, self.building, values)
        return total[0], total[1], total[2]

    def share(self, given_kwh: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Divide the present hour's energy, shape (buildings,), among the vehicles: what must be first, then the most urgent.

        Indices and values of the actions, in CityLearn's ranges.
        """
        here = self.first == 0
        building, power, energy = self.building[here], self.power[here], self.energy[here]
        last, part = self.last[here], self.part[here]
        can = np.minimum(energy, power)
        shares = np.clip(energy - power * last, 0.0, can)
        slack = last - energy / np.maximum(power, 1e-9)
        for n in set(building.tolist()):
            order = np.flatnonzero(building == n)
            order = order[np.argsort(slack[order], kind="stable")]
            room = can[order] - shares[order]
            rest = np.clip(given_kwh[n] - shares[order].sum(), 0.0, room.sum())
            shares[order] += np.clip(rest - (np.cumsum(room) - room), 0.0, room)
        # Where an hour covers the need, `part` is the action for it, which accounts for the losses at its power.
        whole = (energy <= power) & (shares >= energy * (1.0 - 1e-9))
        wanted = np.where(whole, part, shares / np.maximum(power, 1e-9))
        return self.action[here], np.where(shares > 0.0, np.clip(wanted, 0.0, 1.0), 0.0)


class Vehicles:
    """Sessions at chargers that act, charged to what they require; a departure is known from the arrival on."""

    def __init__(self, tables: Tables, reference: Reference) -> None:
        sessions, site = reference.sessions, tables.site
        charger = site["charger"]
        buildings = len(site["building"])
        with_chargers = np.unique(charger["building"][charger["action"] >= 0])
        # When a session lasts to the end of the data, its departure is unknown.
        leaves = sessions.end < reference.run.net_kwh.shape[1]
        can = np.flatnonzero((charger["action"][sessions.charger] >= 0) & leaves)
        order = can[np.argsort(sessions.start[can], kind="stable")]
        self._start, self._end = sessions.start[order], sessions.end[order]
        self._longest = int((self._end - self._start).max(initial=0))
        self._vehicle, self._capacity = sessions.vehicle[order], sessions.capacity_kwh[order]
        self._required, self._arrival = sessions.required_soc[order], sessions.arrival_soc[order]
        session_charger = charger[sessions.charger[order]]
        self._building, self._action = np.searchsorted(with_chargers, session_charger["building"]), session_charger["action"]
        self._power = session_charger["charge_max"] / tables.exogenous.steps_per_hour
        # Pairs of charger and vehicle that charge alike share a table.
        vehicles = len(site["battery"]) - buildings
        codes, pair = np.unique(sessions.charger[order].astype(np.int64) * vehicles + self._vehicle, return_inverse=True)
        pairs = [(c, buildings + v) for c, v in (divmod(code, vehicles) for code in codes.tolist())]
        keys = [_key(tables, *each) for each in pairs]
        kinds = dict(zip(keys, pairs, strict=True))
        self._kind = np.array([[*kinds].index(key) for key in keys], np.int64)[pair]
        self._delivered = np.array([_delivered(tables, *each) for each in kinds.values()]).reshape(-1, len(_ACTIONS))
        least, most = np.minimum(session_charger["charge_min"], session_charger["charge_max"]), session_charger["charge_max"]
        self._least_part = np.divide(least, most, out=np.zeros(len(order)), where=most > 0.0)

    def plugged(self, row: int) -> np.ndarray:
        """Indices of the sessions in which a vehicle is plugged in at a row."""
        first, last = np.searchsorted(self._start, [row - self._longest, row + 1])
        here = np.arange(first, last)
        return here[self._end[here] >= row]

    def need(self, row: int, vehicle_soc: np.ndarray, hours: int, foresees: bool) -> Need:
        """What vehicles need in the next hours, from their states of charge, shape (vehicles,), or the future too."""
        sessions = self.plugged(row)
        soc = vehicle_soc[self._vehicle[sessions]]
        if foresees:
            coming = np.arange(*np.searchsorted(self._start, [row + 1, row + hours]))
            sessions, soc = np.concatenate([sessions, coming]), np.concatenate([soc, self._arrival[coming]])
        missing = np.maximum(self._required[sessions] - soc, 0.0) * self._capacity[sessions]
        first, last = np.maximum(self._start[sessions] - row, 0), self._end[sessions] - row
        energy, part = self._at_meter(sessions, missing)
        energy = np.minimum(energy, self._power[sessions] * (last - first + 1))
        return Need(self._building[sessions], self._action[sessions], self._power[sessions], energy, first, last, part)

    def _at_meter(self, sessions: np.ndarray, missing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Energy that chargers take to deliver what batteries lack, and the action for its last hour, both of shape (V,)."""
        kind, power = self._kind[sessions], self._power[sessions]
        an_hour = self._delivered[kind, -1] if len(sessions) else np.zeros(0)
        whole = np.floor(np.divide(missing, an_hour, out=np.zeros(len(sessions)), where=an_hour > 0.0))
        rest, part = missing - whole * an_hour, np.zeros(len(sessions))
        for each in set(kind.tolist()):
            alike = kind == each
            part[alike] = np.interp(rest[alike], self._delivered[each], _ACTIONS)
        # A rest that is less than the charger delivers at its least power is delivered at that power.
        part = np.where(rest > 0.0, np.maximum(part, self._least_part[sessions]), 0.0)
        # Where a charger delivers nothing, the programme has nothing to plan.
        return np.where(an_hour > 0.0, power * (whole + part), 0.0), np.where(whole > 0.0, 1.0, part)


def _key(tables: Tables, c: int, k: int) -> bytes:
    """What decides how a pair of charger and battery charges."""
    site = tables.site
    charger, battery = site["charger"][c], site["battery"][k]
    values = [charger[name] for name in _CHARGER] + [battery[name] for name in _BATTERY]
    return (
        np.array(values, dtype=np.float64).tobytes() + site["charger_curve"][c].tobytes() + site["battery_curve"][k].tobytes()
    )


def _delivered(tables: Tables, c: int, k: int) -> np.ndarray:
    """Energy that a vehicle's battery stores in a step, for each action of `_ACTIONS`; it never falls."""
    charger, battery = tables.site["charger"][c], tables.site["battery"][k]
    points = int(charger["charge_points"])
    efficiency = np.full(len(_ACTIONS), float(charger["efficiency"]))
    if points:
        efficiency = np.interp(_ACTIONS, *tables.site["charger_curve"][c, records.CHARGING, :, :points])
    power = _ACTIONS * charger["charge_max"]
    power = np.where(power < min(charger["charge_min"], charger["charge_max"]), 0.0, power)
    greatest = battery["nominal_power"] if battery["power_points"] else battery["flat_power"]
    request = np.minimum(power * efficiency, greatest)
    root = curve_roots(battery, tables.site["battery_curve"][k], request / max(float(battery["nominal_power"]), 1e-9))
    return np.maximum.accumulate(request * root) / tables.exogenous.steps_per_hour
