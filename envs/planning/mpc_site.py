"""Numbers of a site that model predictive control plans with: its batteries and tanks as a linear programme can know them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from envs.batch_backend import records
from envs.batch_backend.tables import USES, Tables
from envs.objective.reference import Reference
from envs.objective.reward import coefficients
from envs.objective.weights import DEFAULT, Weights
from envs.scenarios.tariff import DemandCharge


@dataclass(frozen=True)
class Tanks:
    """The T tanks of a site year that have an action."""

    building: np.ndarray  # of each, shape (T,)
    use: np.ndarray  # index in `USES`, shape (T,)
    action: np.ndarray  # its index, shape (T,)
    capacity: np.ndarray  # heat or cold that it holds [kWh], shape (T,)
    root: np.ndarray  # part of the heat that is left one way, in and out, shape (T,)
    kept: np.ndarray  # part of the charge that an hour of standby leaves, shape (T,)
    device_kw: np.ndarray  # nominal power of its device, electric, shape (T,)
    greatest_in: np.ndarray  # by the tank itself and the range of its action [kW], shape (T,)
    greatest_out: np.ndarray  # likewise

    @classmethod
    def of(cls, tables: Tables) -> Tanks:
        """Tanks of a year, from its tables."""
        thermal = tables.site["thermal"]
        building, use = np.nonzero((thermal["action"] >= 0) & (thermal["capacity"] > 0.0))
        own = thermal[building, use]
        action = tables.site["action"][own["action"]]
        # An action is the part of its capacity that a tank takes in an hour.
        most_in, most_out = (action["low"] + action["span"]) * own["capacity"], -action["low"] * own["capacity"]
        return cls(
            building=building,
            use=use,
            action=own["action"],
            capacity=own["capacity"],
            root=own["root_efficiency"],
            kept=own["kept"],
            device_kw=own["device_power"],
            greatest_in=np.fmin(own["greatest_input"], most_in),
            greatest_out=np.fmin(own["greatest_output"], most_out),
        )

    def __len__(self) -> int:
        """Number of tanks."""
        return len(self.building)

    def limits(self, demand_kwh: np.ndarray, efficiency: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Most heat that tanks can take, above their demand, and give in an hour [kWh]; arguments of shape (T, hours)."""
        spare = np.maximum(self.device_kw[:, np.newaxis] * efficiency - demand_kwh, 0.0)
        return np.minimum(spare, self.greatest_in[:, np.newaxis]), np.minimum(demand_kwh, self.greatest_out[:, np.newaxis])

    def scattered(self, values: np.ndarray, buildings: int) -> np.ndarray:
        """Values of tanks, shape (T,), in the places of their buildings and uses, shape (N, 3), zero elsewhere."""
        found = np.zeros((buildings, len(USES)), dtype=values.dtype)
        found[self.building, self.use] = values
        return found


def uses_of(tables: Tables) -> tuple[str, ...]:
    """Uses of which some building of a year has a tank that acts, in the order of `USES`."""
    acts = set(Tanks.of(tables).use.tolist())
    return tuple(use for i, use in enumerate(USES) if i in acts)


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

    @property
    def buildings(self) -> int:
        """Number of buildings."""
        return len(self.power)

    @classmethod
    def of(cls, tables: Tables, reference: Reference, weights: Weights = DEFAULT) -> MpcSite:
        """Numbers of a year from its tables, its uncontrolled run and the weights of the reward's terms."""
        buildings, site = len(tables.site["building"]), tables.site
        battery, curves = site["battery"][:buildings], site["battery_curve"][:buildings]
        steps = reference.run.net_kwh.shape[1]
        usable = site["building"]["battery_action"] >= 0
        roots = np.array([_roots(own, curve) for own, curve in zip(battery, curves, strict=True)])
        charger = site["charger"]
        return cls(
            power=np.where(usable, np.where(battery["power_points"] > 0, battery["nominal_power"], battery["flat_power"]), 0.0),
            least=battery["minimum_energy"],
            most=np.maximum(battery["capacity"], battery["minimum_energy"]),
            root_in=roots[:, 0],
            root_out=roots[:, 1],
            kept=battery["kept"],
            nominal_power=battery["nominal_power"],
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
