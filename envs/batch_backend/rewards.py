"""CityLearn's own reward functions for one central agent, over all copies, after `citylearn.reward_function` 3.0.2.

It reads the state after the step. Sums over buildings go in CityLearn's order and, where its values are float32, in float32.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from envs.batch_backend import records

if TYPE_CHECKING:
    from envs.batch_backend.simulator import BatchSimulator

_TINY = 1e-6  # CityLearn's placeholder for zero
_EV_WEIGHTS = {
    "no_car_charging": -5.0, "battery_limits": -2.0, "soc_impossible": -10.0, "soc_under": -5.0, "close_soc": 10.0,
    "self_ev_consumption": 5.0, "extra_self_production": 5.0,
}  # fmt: skip


class SchemaReward:
    """The reward function that a scenario's schema names."""

    def __init__(self, simulator: BatchSimulator) -> None:
        self._simulator = simulator
        self._name, attributes = simulator.first.reward
        self._attributes: dict[str, Any] = json.loads(attributes) or {}
        self._rows = np.zeros(0, dtype=np.int64)
        self._previous_soc = np.zeros(0)

    def step(self, actions: np.ndarray, which: np.ndarray | None = None) -> np.ndarray:
        """Take a step as `BatchSimulator.step`; rewards, shape (copies,)."""
        simulator = self._simulator
        self._rows = simulator.row
        if self._name == "Electric_Vehicles_Reward_Function":
            first = simulator.state.copy["step"] == 0
            initial = np.tile(simulator.first.initial_soc, (simulator.copies, 1))
            self._previous_soc = np.where(first[:, np.newaxis], initial, simulator.state.previous_soc)
        simulator.step(actions, which)
        rewards = {
            "RewardFunction": self._import,
            "MARL": self._marl,
            "IndependentSACReward": self._independent,
            "SolarPenaltyReward": self._solar_penalty,
            "ComfortReward": self._comfort,
            "SolarPenaltyAndComfortReward": self._solar_penalty_and_comfort,
            "Electric_Vehicles_Reward_Function": self._electric_vehicles,
        }
        return rewards[self._name]().astype(np.float64)

    @property
    def _net(self) -> np.ndarray:
        """Net consumption of each building, shape (copies, buildings), float32."""
        return self._simulator.out.energy[:, :, records.NET_KWH]

    def _import(self) -> np.ndarray:
        exponent = self._attributes.get("exponent")
        return _total(-(np.maximum(self._net, 0.0) ** np.float32(1.0 if exponent is None else exponent)))

    def _independent(self) -> np.ndarray:
        return _total(np.minimum(-self._net, np.float32(0.0)))

    def _marl(self) -> np.ndarray:
        district = np.maximum(_total(self._net), 0.0).astype(np.float64)[:, np.newaxis]
        export = -self._net.astype(np.float64)
        return np.asarray((np.sign(export) * 0.01 * export**2 * district).sum(axis=1))

    def _solar_penalty(self) -> np.ndarray:
        simulator, net = self._simulator, self._net
        buildings = net.shape[1]
        capacities = np.concatenate(
            [simulator.site.thermal["capacity"], simulator.site.battery["capacity"][:buildings, np.newaxis]], axis=1
        )
        state = simulator.state
        # CityLearn's reward reads the state before standby losses.
        levels = np.concatenate([state.tank["previous_soc"], state.previous_soc[:, :buildings, np.newaxis]], axis=2)
        reward = np.zeros_like(net)
        for i in range(levels.shape[2]):
            penalty = -(np.float32(1.0) + np.sign(net) * levels[:, :, i]) * np.abs(net)
            reward += np.where(capacities[:, i] > _TINY, penalty, np.float32(0.0))
        return _total(reward)

    def _comfort(self) -> np.ndarray:
        series = self._simulator.comfort(self._rows)  # (copies, buildings)
        tank = self._simulator.state.tank
        demand = tank["given"] + np.abs(np.minimum(tank["balance"], np.float32(0.0)))
        heats = demand[:, :, records.HEATING] > demand[:, :, records.COOLING]
        band = self._attributes.get("band")
        band = series["band"] if band is None else np.float32(band)
        lower, higher = (_power(self._attributes.get(f"{side}_exponent")) for side in ("lower", "higher"))
        indoor, cooling, heating, mode = series["indoor"], series["cooling"], series["heating"], series["mode"]
        point = np.where(mode == 1, cooling, heating)
        delta = np.abs(indoor - point)
        single = np.select(
            [indoor < point - band, indoor < point, indoor <= point + band],
            [
                -np.where(mode == 2, delta**lower, delta**higher),
                np.where(heats, np.float32(0.0), -delta),
                np.where(heats, -delta, np.float32(0.0)),
            ],
            -np.where(heats, delta**higher, delta**lower),
        )
        cold, warm = np.abs(indoor - heating), np.abs(indoor - cooling)
        both = np.select(
            [indoor < heating - band, indoor < heating, indoor <= cooling, indoor < cooling + band],
            [-np.where(heats, cold**lower, cold**higher), -cold, np.zeros_like(cold), -warm],
            -np.where(heats, warm**higher, warm**lower),
        )
        return _total(np.where((mode == 1) | (mode == 2), single, both).astype(np.float32))

    def _solar_penalty_and_comfort(self) -> np.ndarray:
        coefficients = self._attributes.get("coefficients") or (1.0, 1.0)
        parts = np.stack([self._solar_penalty(), self._comfort()]).astype(np.float32)
        return np.asarray((parts * np.reshape(coefficients, (2, 1))).sum(axis=0))

    def _electric_vehicles(self) -> np.ndarray:
        """Sum over all chargers, scaled by the base reward as in CityLearn."""
        simulator = self._simulator
        weights = self._attributes.get("weights") or _EV_WEIGHTS
        multiplier = 1.0 / (1.0 + np.abs(self._marl()))
        commanded = simulator.commanded_kwh
        shares = np.array([self._of_chargers(b, weights, commanded[b]) for b in range(simulator.copies)])
        # Of buildings that show it, CityLearn counts what was asked for beyond the limits of their connection.
        shown = simulator.site.building["shows_violation"] > 0
        return multiplier * shares - simulator.state.room["violation"][:, shown].sum(axis=1)

    def _of_chargers(self, b: int, weights: dict[str, float], commanded: np.ndarray) -> float:
        """Sum over the chargers of one copy, before scaling."""
        simulator, row = self._simulator, int(self._rows[b])
        site, plugged, required, countdown = simulator.site, *simulator.plugged(row)
        net = self._net[b, site.charger["building"]]
        alone = np.ones(len(site.charger), dtype=bool)
        alone[plugged["charger"]] = False
        total = weights["no_car_charging"] * float((np.abs(commanded[alone].astype(np.float64)) > 0.1).sum())
        charger, k = site.charger[plugged["charger"]], simulator.net_buildings + plugged["vehicle"]
        battery, told, site_net = site.battery[k], commanded[plugged["charger"]], net[plugged["charger"]]
        capacity = battery["capacity"].astype(np.float32)
        # A vehicle that leaves and is not stepped any more has no standby loss, so its state of charge is still the step's own.
        stays = simulator.follows_parked | np.isin(plugged["vehicle"], simulator.plugged(row + 1)[0]["vehicle"])
        now = np.where(stays, simulator.state.previous_soc[b, k], simulator.state.soc[b, k])
        hours = np.maximum(countdown.astype(np.float64), 0.0) * simulator.step_hours
        held = self._previous_soc[b, k].astype(np.float32) * capacity + told
        total += weights["battery_limits"] * float(
            ((held > capacity) | (held < battery["discharge_limit"].astype(np.float32))).sum()
        )
        # Comparing a float32 with a Python float rounds the latter.
        charge, discharge = (
            (np.maximum(charger[f"{side}_max"], 0.0) * hours).astype(np.float32) for side in ("charge", "discharge")
        )
        impossible = np.maximum(required - now, np.float32(0.0)) * capacity > charge
        total += weights["soc_impossible"] * float(impossible.sum())
        short = now - required
        leaves = hours == 0.0
        under = weights["soc_under"]
        total += 2.0 * under * float((leaves & (short > -0.25) & (short <= -0.10)).sum())
        total += under**2 * float((leaves & (short <= -0.25)).sum())
        total += weights["close_soc"] * float((leaves & (short > -0.10) & (short <= 0.10)).sum())
        close = np.abs(short * capacity) <= np.maximum(charge, discharge)
        total += weights["close_soc"] * float((close / (hours + 0.1)).sum())
        gives, takes = told < 0.0, told > 0.0
        exports, imports = site_net < 0.0, site_net > 0.0
        total += weights["extra_self_production"] * (float((takes & exports).sum()) - 0.5 * float((gives & exports).sum()))
        total += weights["self_ev_consumption"] * (float((gives & imports).sum()) - 0.5 * float((takes & imports).sum()))
        return total


def _power(exponent: float | None) -> np.float32:
    return np.float32(2.0 if exponent is None else exponent)


def _total(values: np.ndarray) -> np.ndarray:
    """Sum over buildings one after another, as Python's `sum` adds float32 values; shape (copies,)."""
    total = np.zeros(len(values), dtype=values.dtype)
    for n in range(values.shape[1]):
        total = total + values[:, n]
    return total
