"""CityLearn's physics, the reward and the observation, compiled: one call steps all copies by one hour.

CityLearn keeps its series as float32 and reckons in a mixture of float32 and float64 that follows from NumPy's
promotion rules: a Python float gives way to a float32, a NumPy float64 does not. Where a result is float32
there, it is rounded to float32 here (`_f32`), so that the copies stay with CityLearn bit by bit instead of
drifting off by tenths of a kilowatt hour over a year. The formulas are those of CityLearn 3.0.2:
`energy_model.Battery.charge`, `energy_model.StorageTank.charge`, `electric_vehicle_charger.Charger`,
`building.Building.update_*`, and `internal.runtime.CityLearnRuntimeService` for their order.

Letters in shapes are those of `envs.batch.records`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from envs.batch.records import (
    BATTERY_CONSUMPTION,
    BATTERY_KWH,
    BATTERY_SOC,
    CHARGING_KWH,
    COOLING,
    COST,
    DHW,
    DRIFT,
    EMISSION,
    HEATING,
    NET,
    NET_KWH,
    SET,
    TANK_SOC,
    THERMAL_CONSUMPTION,
    THERMAL_DEMAND,
    Out,
    Rows,
    Site,
    State,
)

_TINY = 1e-6  # CityLearn's placeholder for zero in denominators
_DRIFT_STD, _DRIFT_LOW, _DRIFT_HIGH = 0.2, 0.6, 1.4
_KEY = 624  # words of a Mersenne Twister


# With NumPy's error model a division needs no check for zero before it; none here has one that CityLearn's has not.
_compiled = njit(error_model="numpy")
_inlined = njit(error_model="numpy", inline="always")
_entry = njit(error_model="numpy", cache=True)


@_inlined
def _f32(value: float) -> float:
    """The value as CityLearn's float32 arithmetic has it; operations on two of these round as float32 ones do."""
    return np.float64(np.float32(value))


@_entry
def seed_generator(key: np.ndarray, seed: int) -> None:
    """State of `numpy.random.RandomState(seed)`, whose position is then 624 (Matsumoto and Nishimura 1998, 2002)."""
    word = np.uint64(seed) & np.uint64(0xFFFFFFFF)
    for i in range(_KEY):
        key[i] = np.uint32(word)
        word = (np.uint64(1812433253) * (word ^ (word >> np.uint64(30))) + np.uint64(i + 1)) & np.uint64(0xFFFFFFFF)


@_compiled
def _refill(key: np.ndarray) -> None:
    upper, lower, matrix = np.uint32(0x80000000), np.uint32(0x7FFFFFFF), np.uint32(0x9908B0DF)
    for i in range(_KEY):
        y = (key[i] & upper) | (key[(i + 1) % _KEY] & lower)
        word = key[(i + 397) % _KEY] ^ (y >> np.uint32(1))
        if y & np.uint32(1):
            word ^= matrix
        key[i] = word


@_compiled
def _word(key: np.ndarray, copy: Any) -> int:
    if copy.position == _KEY:
        _refill(key)
        copy.position = 0
    y = key[copy.position]
    copy.position += 1
    y ^= y >> np.uint32(11)
    y ^= (y << np.uint32(7)) & np.uint32(0x9D2C5680)
    y ^= (y << np.uint32(15)) & np.uint32(0xEFC60000)
    y ^= y >> np.uint32(18)
    return y


@_compiled
def _uniform(key: np.ndarray, copy: Any) -> float:
    high = _word(key, copy) >> np.uint32(5)
    low = _word(key, copy) >> np.uint32(6)
    return (np.float64(high) * 67108864.0 + np.float64(low)) / 9007199254740992.0


@_compiled
def _gauss(key: np.ndarray, copy: Any) -> float:
    """Next standard normal number of `RandomState`: Marsaglia's polar method, the second number kept for the next call."""
    if copy.has_spare:
        copy.has_spare = 0
        return copy.spare
    while True:
        x = 2.0 * _uniform(key, copy) - 1.0
        y = 2.0 * _uniform(key, copy) - 1.0
        radius = x * x + y * y
        if 0.0 < radius < 1.0:
            break
    factor = math.sqrt(-2.0 * math.log(radius) / radius)
    copy.has_spare, copy.spare = 1, factor * x
    return factor * y


@_inlined
def _on_curve(curve: np.ndarray, k: int, points: int, value: float) -> float:
    """Piecewise linear, extrapolating: CityLearn's battery curves."""
    i = 0
    while i < points - 2 and curve[k, 0, i + 1] < value:
        i += 1
    x, y = curve[k, 0, i], curve[k, 1, i]
    return y + (curve[k, 1, i + 1] - y) * (value - x) / (curve[k, 0, i + 1] - x)


@_inlined
def _root(curve: np.ndarray, k: int, points: int, part: float) -> float:
    """Root of the efficiency at a part of the nominal power."""
    return math.sqrt(_on_curve(curve, k, points, min(max(part, 0.0), 1.0)))


@_inlined
def _limit(
    battery: Any, before: float, left: float, wanted: float, greatest: float, root: float, charging: bool, narrow: bool
) -> float:
    """What the battery's power and the room in it leave of the energy wanted, at its terminals [kWh]."""
    if charging:
        if narrow:
            room = max(_f32(_f32(left) - before), 0.0)
            room = room if root == 1.0 else _f32(room / _f32(max(root, _TINY)))
        else:
            room = max(left - before, 0.0) / max(root, _TINY)
    elif narrow:
        room = _f32(max(_f32(before - _f32(battery.discharge_limit)), 0.0) * _f32(root))
    else:
        room = max(before - battery.discharge_limit, 0.0) * root
    # The battery's greatest power is a Python float, which a comparison with a float32 rounds; the request is not.
    if greatest < wanted:
        return room if room < (_f32(greatest) if narrow else greatest) else greatest
    return min(room, wanted)


@_inlined
def _charge(
    battery: Any, power_curve: np.ndarray, efficiency_curve: np.ndarray, k: int,
    soc: np.ndarray, degraded: np.ndarray, b: int, requested: float,
) -> float:  # fmt: skip
    """`Battery.charge`: ask battery `k` of copy `b` to take (or, if negative, give) energy [kWh].

    Returns:
        What it took at its terminals [kWh], a float32.
    """
    capacity, minimum, left = battery.capacity, battery.minimum_energy, degraded[b, k]
    stored = _f32(soc[b, k] * _f32(capacity))
    # max(float, float32) is a float32 only where that is greater; else all that follows is float64.
    narrow = stored > _f32(minimum)
    divisor = max(capacity, _TINY)
    before = stored if narrow else minimum
    if battery.power_points:
        level = _f32(before / _f32(divisor)) if narrow else before / divisor
        greatest = max(battery.nominal_power * _on_curve(power_curve, k, battery.power_points, level), 0.0)
    else:
        greatest = battery.flat_power
    wanted = abs(requested)
    if battery.efficiency_points:
        nominal = max(battery.nominal_power, _TINY)
        root = _root(efficiency_curve, k, battery.efficiency_points, min(wanted, greatest) / nominal)
        limited = _limit(battery, before, left, wanted, greatest, root, requested >= 0.0, narrow)
        root = _root(efficiency_curve, k, battery.efficiency_points, limited / nominal)
    else:
        root = battery.flat_root
    limited = _limit(battery, before, left, wanted, greatest, root, requested >= 0.0, narrow)
    # Vehicles' batteries often have no losses of their own, and a division by one is as slow as any other.
    lossless = root == 1.0
    if requested >= 0.0 or limited == 0.0:
        after = before + limited * root
        clipped = capacity < after
        if clipped:
            after = capacity
    else:
        after = before - (limited if lossless else limited / root)
        clipped = not after > minimum
        if clipped:
            after = minimum
    soc[b, k] = np.float32(after / divisor)
    change = _f32(_f32(after) - before) if clipped and narrow else after - before
    if lossless:
        balance = _f32(change)
    elif clipped and narrow:
        balance = _f32(change / _f32(root)) if change >= 0.0 else _f32(change * _f32(root))
    else:
        balance = _f32(change / root) if change >= 0.0 else _f32(change * root)
    remaining = _f32(left)
    if battery.wear != 0.0:
        worn = _f32(_f32(_f32(battery.wear) * abs(balance)) / _f32(2.0 * max(left, _TINY)))
        remaining = max(_f32(remaining - worn), 0.0)
    degraded[b, k] = remaining
    return balance


@_compiled
def _interpolate(curve: np.ndarray, c: int, side: int, points: int, value: float) -> float:
    """`numpy.interp`."""
    if value <= curve[c, side, 0, 0]:
        return curve[c, side, 1, 0]
    if value >= curve[c, side, 0, points - 1]:
        return curve[c, side, 1, points - 1]
    i = 0
    while curve[c, side, 0, i + 1] <= value:
        i += 1
    x, y = curve[c, side, 0, i], curve[c, side, 1, i]
    slope = (curve[c, side, 1, i + 1] - y) / (curve[c, side, 0, i + 1] - x)
    return slope * (value - x) + y


@_inlined
def _commanded(charger: Any, action: float) -> float:
    """Power that an action stands for [kW]: none below the charger's least."""
    if action > 0.0:
        greatest, least = max(charger.charge_max, 0.0), charger.charge_min
    else:
        greatest, least = max(charger.discharge_max, 0.0), charger.discharge_min
    power = abs(action) * greatest
    return 0.0 if power < max(min(least, greatest), 0.0) else min(power, greatest)


@_inlined
def _native(site: Site, actions: np.ndarray, b: int, index: int) -> float:
    """An action in CityLearn's range, which ends at -1 and 1."""
    part = (min(max(np.float64(actions[b, index]), -1.0), 1.0) + 1.0) / 2.0
    return min(max(site.action_low[index] + part * site.action_span[index], -1.0), 1.0)


@_compiled
def _output_limit(site: Site, device: np.ndarray, cop: float, b: int, n: int, use: int) -> float:
    """`get_max_output_power` of a thermal device, with what it has already taken in this step."""
    left = _f32(_f32(site.device_power[n, use]) - device[b, n, use, 1])
    return left * cop if site.device_wide[n, use] else _f32(left * _f32(cop))


@_compiled
def _run_device(site: Site, rows: Rows, state: State, b: int, n: int, use: int, row: int) -> None:
    """`Building.update_energy_from_*_device`: what the tank does not give, the device does."""
    cop = rows.meter[row, n].cop[use]
    given = max(-np.float64(state.device[b, n, use, 2]), 0.0)
    output = _f32(np.float64(rows.meter[row, n].demand[use]) - given)
    limit = _output_limit(site, state.device, cop, b, n, use)
    wide = False
    if limit < output:
        output, wide = limit, site.device_wide[n, use]
    state.device[b, n, use, 0] = np.float32(output)
    consumption = output / cop if wide else _f32(output / _f32(cop))
    state.device[b, n, use, 1] = np.float32(state.device[b, n, use, 1] + max(0.0, consumption))


@_compiled
def _use_tank(site: Site, rows: Rows, state: State, b: int, n: int, use: int, row: int, action: float) -> None:
    """`Building.update_*_storage` and `StorageTank.charge`."""
    capacity, root = site.tank_capacity[n, use], site.tank_root_efficiency[n, use]
    cop = rows.meter[row, n].cop[use]
    energy = action * capacity
    if energy > 0.0:
        limit = _output_limit(site, state.device, cop, b, n, use)
        compared = energy if site.device_wide[n, use] else _f32(energy)
        if not compared < limit:
            energy = limit
    else:
        limit = -np.float64(rows.meter[row, n].demand[use])
        if not _f32(energy) > limit:
            energy = limit
    if energy >= 0.0:
        if not math.isnan(site.tank_input[n, use]):
            energy = min(energy, site.tank_input[n, use])
    elif not math.isnan(site.tank_output[n, use]):
        energy = max(-site.tank_output[n, use], energy)
    stored = _f32(state.tank[b, n, use] * _f32(capacity))
    clipped = False
    if energy >= 0.0:
        after = stored + energy * root
        if capacity < after:
            after, clipped = capacity, True
    else:
        after = stored + energy / root
        if not after > 0.0:
            after, clipped = 0.0, True
    state.tank[b, n, use] = np.float32(after / max(capacity, _TINY))
    # Against an empty tank's float zero nothing is rounded.
    if clipped and stored > 0.0:
        change = _f32(_f32(after) - stored)
        balance = _f32(change / _f32(root)) if change >= 0.0 else _f32(change * _f32(root))
    else:
        change = after - stored
        balance = _f32(change / root) if change >= 0.0 else _f32(change * root)
    state.device[b, n, use, 2] = np.float32(balance)
    consumption = _f32(max(balance, 0.0) / _f32(cop))
    state.device[b, n, use, 1] = np.float32(state.device[b, n, use, 1] + consumption)


@_compiled
def _run_thermal(site: Site, rows: Rows, state: State, b: int, n: int, row: int, actions: np.ndarray) -> None:
    for use in range(3):
        state.device[b, n, use, 1] = np.float32(0.0)
        state.device[b, n, use, 2] = np.float32(0.0)
        index = site.tank_action[n, use]
        wish = _native(site, actions, b, index) if index >= 0 else 0.0
        # A tank that gives goes before its device, one that takes after it.
        if wish < 0.0:
            _use_tank(site, rows, state, b, n, use, row, wish)
            _run_device(site, rows, state, b, n, use, row)
        else:
            _run_device(site, rows, state, b, n, use, row)
            _use_tank(site, rows, state, b, n, use, row, wish)
    if state.copy[b].step == 0:
        _first_thermal(rows, state, b, n, row)


@_compiled
def _first_thermal(rows: Rows, state: State, b: int, n: int, row: int) -> None:
    """In the first step of an episode CityLearn reckons the devices' consumption anew, from output and the tank's balance."""
    for use in range(3):
        total = _f32(np.float64(state.device[b, n, use, 0]) + np.float64(state.device[b, n, use, 2]))
        state.device[b, n, use, 1] = np.float32(_f32(total / _f32(rows.meter[row, n].cop[use])))


# -- the phases of a step, each over all copies of a range ---------------------------------


@_compiled
def _act(site: Site, rows: Rows, state: State, out: Out, actions: np.ndarray, copies: np.ndarray) -> None:
    """Carry out the actions: thermal devices and tanks, batteries, chargers."""
    buildings = site.battery_action.size
    battery, charger = site.battery, site.charger
    power_curve, efficiency_curve, charger_curve = site.power_curve, site.efficiency_curve, site.charger_curve
    soc, degraded, energy, plugged = state.soc, state.degraded, out.energy, rows.plugged
    for b in copies:
        row = state.copy[b].start + state.copy[b].step
        for n in range(buildings):
            if site.thermal[n]:
                _run_thermal(site, rows, state, b, n, row, actions)
            index = site.battery_action[n]
            wish = _native(site, actions, b, index) if index >= 0 else 0.0
            request = wish * battery[n].nominal_power
            energy[b, n, BATTERY_KWH] = _charge(battery[n], power_curve, efficiency_curve, n, soc, degraded, b, request)
            energy[b, n, CHARGING_KWH] = 0.0
        for p in range(rows.hour[row].first_plugged, rows.hour[row + 1].first_plugged):
            c = plugged[p].charger
            unit = charger[c]
            if unit.action < 0:
                continue
            wish = _native(site, actions, b, unit.action)
            power = _commanded(unit, wish)
            side = 0 if wish > 0.0 else 1
            limit = unit.charge_max if side == 0 else unit.discharge_max
            points = unit.charge_points if side == 0 else unit.discharge_points
            part = power / max(limit, _TINY)
            efficiency = _interpolate(charger_curve, c, side, points, part) if points else unit.efficiency
            divisor = max(efficiency, _TINY)
            request = part * limit * efficiency if side == 0 else -(part * limit) / divisor
            k = buildings + plugged[p].vehicle
            balance = _charge(battery[k], power_curve, efficiency_curve, k, soc, degraded, b, request)
            if power == 0.0:
                # A consumption of zero, whatever rounding does to the battery.
                continue
            # A constant efficiency is a Python float and gives way to the float32 balance; one from a curve does not.
            if balance >= 0.0:
                taken = balance / divisor if points else _f32(balance / _f32(divisor))
            else:
                taken = balance * efficiency if points else _f32(balance * _f32(efficiency))
            n = unit.building
            energy[b, n, CHARGING_KWH] = energy[b, n, CHARGING_KWH] + np.float32(taken)


@_compiled
def _balance(site: Site, rows: Rows, state: State, out: Out, copies: np.ndarray) -> None:
    """`Building.update_variables`: net consumption, cost and emission, summed in CityLearn's order."""
    energy, money, device, zero = out.energy, out.money, state.device, np.float32(0.0)
    for b in copies:
        row = state.copy[b].start + state.copy[b].step
        for n in range(site.battery_action.size):
            meter = rows.meter[row, n]
            net = zero
            if site.thermal[n]:
                net = np.float32(device[b, n, COOLING, 1] + device[b, n, HEATING, 1])
                net = np.float32(net + device[b, n, DHW, 1])
            net = np.float32(net + meter.load)
            net = np.float32(net + energy[b, n, BATTERY_KWH])
            net = np.float32(net + meter.solar)
            net = np.float32(net + energy[b, n, CHARGING_KWH])
            energy[b, n, NET_KWH] = net
            money[b, n, COST] = max(net, zero) * meter.price
            money[b, n, EMISSION] = max(zero, np.float32(net * meter.carbon))


@_inlined
def _demand_charge(prices: np.ndarray, peak: np.ndarray) -> float:
    return prices[0] * peak[0] + prices[1] * max(0.0, peak[1] - peak[0])


@_inlined
def _raise_peak(prices: np.ndarray, peak: np.ndarray, peak_hour: int, net: float) -> float:
    """Count an hour's import in the month's peaks and return by how much the month's charge rises."""
    before = _demand_charge(prices, peak)
    at = 0 if peak_hour else 1
    peak[at] = max(peak[at], max(0.0, net))
    return _demand_charge(prices, peak) - before


@_compiled
def _reward(site: Site, rows: Rows, state: State, out: Out, copies: np.ndarray) -> None:
    """Terms of `envs.reward.improvement_terms`."""
    buildings, prices, session, soc = site.battery_action.size, site.demand_price, rows.session, state.soc
    priced = prices[0] != 0.0 or prices[1] != 0.0
    recorded = out.session_missing.shape[0] > 0
    for b in copies:
        copy = state.copy[b]
        row = copy.start + copy.step
        hour = rows.hour[row]
        emission, cost, solar, net = 0.0, 0.0, 0.0, 0.0
        for n in range(buildings):
            meter = rows.meter[row, n]
            kwh = np.float64(out.energy[b, n, NET_KWH])
            drawn = max(kwh, 0.0)
            net += kwh
            emission += drawn * np.float64(meter.carbon)
            cost += drawn * np.float64(meter.price)
            solar += max(-np.float64(meter.solar) - max(-kwh, 0.0), 0.0)
        reference_cost = hour.energy_cost
        if priced:
            first, last = hour.month_from, hour.month_to
            share = (min(last, copy.start + copy.hours) - max(first, copy.start)) / (last - first)
            cost += _raise_peak(prices, copy.peak, hour.peak_hour, net) * share
            reference_cost += _raise_peak(prices, copy.reference_peak, hour.peak_hour, hour.net) * share
        missing, reference_missing = 0.0, 0.0
        for s in range(hour.first_departure, rows.hour[row + 1].first_departure):
            # See `envs.series.Sessions.within`.
            if session[s].start < copy.start + 2:
                continue
            short = session[s].required - np.float64(soc[b, buildings + session[s].vehicle])
            lacking = short * session[s].capacity if short > site.met_tolerance else 0.0
            if recorded:
                out.session_missing[b, s] = lacking
            missing += lacking
            reference_missing += session[s].reference_missing
        ramp = 0.0 if math.isnan(copy.net) else abs(net - copy.net)
        reference_ramp = 0.0 if math.isnan(copy.reference_net) else abs(hour.net - copy.reference_net)
        copy.net, copy.reference_net = net, hour.net
        gains = (
            hour.emission - emission, reference_cost - cost, solar - hour.solar_use, reference_ramp - ramp,
            reference_missing - missing,
        )  # fmt: skip
        for i in range(5):
            mean = site.scale[hour.year, i]
            out.terms[b, i] = site.weights[i] * gains[i] / mean if mean > 0.0 else 0.0


@_inlined
def _stand_by(battery: Any, soc: np.ndarray, previous: np.ndarray, b: int, k: int) -> None:
    level = soc[b, k]
    previous[b, k] = level
    kept = np.float32(level * np.float32(battery.kept))
    soc[b, k] = min(max(kept, np.float32(battery.minimum_soc)), np.float32(1.0))


@_compiled
def _park(site: Site, rows: Rows, state: State, copies: np.ndarray) -> None:
    """Vehicles that no charger holds in the next row: standby losses, CityLearn's drift, what is known of their arrival."""
    buildings, battery, key, soc, previous = site.battery_action.size, site.battery, state.key, state.soc, state.previous_soc
    plugged = np.zeros(battery.size - buildings, dtype=np.bool_)
    for b in copies:
        copy = state.copy[b]
        row = copy.start + copy.step + 1
        # CityLearn looks ahead to the row after; at the end of an episode there is none, and nothing drifts.
        ends = copy.step + 1 == copy.hours
        plugged[:] = False
        for p in range(rows.hour[row].first_plugged, rows.hour[row + 1].first_plugged):
            plugged[rows.plugged[p].vehicle] = True
        own_key = key[b]
        for v in range(plugged.size):
            if plugged[v]:
                continue
            k = buildings + v
            _stand_by(battery[k], soc, previous, b, k)
            if ends:
                continue
            event = rows.event[row, v]
            if event == DRIFT:
                factor = 1.0 + _DRIFT_STD * _gauss(own_key, copy)
                factor = min(max(factor, _DRIFT_LOW), _DRIFT_HIGH)
                soc[b, k] = min(max(np.float64(previous[b, k]) * factor, 0.0), 1.0)
            elif event == SET:
                soc[b, k] = rows.event_soc[row, v]


@_compiled
def _advance(site: Site, rows: Rows, state: State, copies: np.ndarray) -> None:
    """To the next row: standby losses of batteries, tanks and plugged-in vehicles, and arrivals, in CityLearn's order."""
    buildings, battery, soc, previous = site.battery_action.size, site.battery, state.soc, state.previous_soc
    one, zero = np.float32(1.0), np.float32(0.0)
    for b in copies:
        copy = state.copy[b]
        copy.step += 1
        row = copy.start + copy.step
        for n in range(buildings):
            _stand_by(battery[n], soc, previous, b, n)
            if site.thermal[n]:
                for use in range(3):
                    level = state.tank[b, n, use]
                    state.previous_tank[b, n, use] = level
                    kept = np.float32(level * np.float32(site.tank_kept[n, use]))
                    state.tank[b, n, use] = min(max(kept, zero), one)
        for p in range(rows.hour[row].first_plugged, rows.hour[row + 1].first_plugged):
            plugged = rows.plugged[p]
            k = buildings + plugged.vehicle
            # Before the second step CityLearn has not looked ahead yet.
            if copy.step >= 2 and not math.isnan(plugged.before):
                soc[b, k] = plugged.before
            _stand_by(battery[k], soc, previous, b, k)
            if not math.isnan(plugged.arrival):
                soc[b, k] = plugged.arrival


@_compiled
def _observe(site: Site, rows: Rows, state: State, out: Out, copies: np.ndarray) -> None:
    """Write the observation at the row that begins: exogenous values of the row, the others as the last step left them."""
    observation, template, charger, energy = out.observation, rows.template, site.charger, out.energy
    centre, inverse, bound = site.centre, site.inverse, site.bound
    buildings, others = site.battery_action.size, site.endogenous_at.size
    for b in copies:
        copy = state.copy[b]
        row = copy.start + copy.step
        if rows.hour[row].month != copy.month:
            copy.month = rows.hour[row].month
            copy.peak[:] = 0.0
            copy.reference_peak[:] = 0.0
        soc = state.previous_soc if copy.step else state.soc
        observation[b, :] = template[row, :]
        for i in range(others):
            kind, n, use = site.endogenous[i, 0], site.endogenous[i, 1], site.endogenous[i, 2]
            raw: float
            if kind == NET:
                raw = np.float64(energy[b, n, NET_KWH])
            elif kind == BATTERY_SOC:
                raw = np.float64(soc[b, n])
            elif kind == BATTERY_CONSUMPTION:
                raw = np.float64(energy[b, n, BATTERY_KWH])
            elif kind == TANK_SOC:
                raw = np.float64(state.previous_tank[b, n, use] if copy.step else state.tank[b, n, use])
            elif kind == THERMAL_DEMAND:
                raw = _f32(np.float64(state.device[b, n, use, 0]) + abs(min(np.float64(state.device[b, n, use, 2]), 0.0)))
            elif kind == THERMAL_CONSUMPTION:
                raw = np.float64(state.device[b, n, use, 1])
            else:
                raw = copy.peak[use]
            observation[b, site.endogenous_at[i]] = min(max((raw - centre[i]) * inverse[i], -bound[i]), bound[i])
        for p in range(rows.hour[row].first_plugged, rows.hour[row + 1].first_plugged):
            c = rows.plugged[p].charger
            at, i = charger[c].soc_at, others + c
            if at >= 0:
                raw = np.float64(soc[b, buildings + rows.plugged[p].vehicle])
                observation[b, at] = min(max((raw - centre[i]) * inverse[i], -bound[i]), bound[i])


@_entry
def begin(
    site: Site,
    rows: Rows,
    state: State,
    out: Out,
    copies: np.ndarray,
    first_row: np.ndarray,
    soc: np.ndarray,
    tanks: np.ndarray,
) -> None:
    """Start an episode of some copies, whose `start`, `hours` and random generator are set before.

    Args:
        site: what holds for all rows.
        rows: what no action can change.
        state: what the copies remember.
        out: where the first observation goes.
        copies: which, shape (M,).
        first_row: first row of the year that each one's episode lies in, shape (M,).
        soc: of the batteries at the start, shape (M, N + V).
        tanks: state of charge of the tanks at the start, shape (N, 3).
    """
    buildings = site.battery_action.size
    for i in range(copies.size):
        b = copies[i]
        copy = state.copy[b]
        row = copy.start
        copy.step = 0
        for k in range(site.battery.size):
            state.soc[b, k] = max(soc[i, k], site.battery[k].minimum_soc)
            state.degraded[b, k] = site.battery[k].capacity
        for p in range(rows.hour[row].first_plugged, rows.hour[row + 1].first_plugged):
            if not math.isnan(rows.plugged[p].first):
                state.soc[b, buildings + rows.plugged[p].vehicle] = rows.plugged[p].first
        out.energy[b, :, :] = 0.0
        if out.session_missing.shape[0]:
            out.session_missing[b, :] = 0.0
        for n in range(buildings):
            state.device[b, n, :, :] = 0.0
            if site.thermal[n]:
                for use in range(3):
                    state.tank[b, n, use] = tanks[n, use]
                    state.device[b, n, use, 0] = rows.meter[row, n].demand[use]
                _first_thermal(rows, state, b, n, row)
        before = rows.hour[row - 1].net if row > first_row[i] else np.nan
        copy.net, copy.reference_net = before, before
        copy.month = -1
    _balance(site, rows, state, out, copies)
    _observe(site, rows, state, out, copies)


@_entry
def step(site: Site, rows: Rows, state: State, out: Out, actions: np.ndarray, copies: np.ndarray) -> None:
    """Step copies by one hour.

    Args:
        site: what holds for all rows.
        rows: what no action can change.
        state: what the copies remember.
        out: where the results go.
        actions: within [-1, 1], each mapped to its range; what lies outside is clipped; shape (B, A).
        copies: which copies to step, shape (M,).
    """
    _act(site, rows, state, out, actions, copies)
    _balance(site, rows, state, out, copies)
    _reward(site, rows, state, out, copies)
    if rows.event.shape[0]:
        _park(site, rows, state, copies)
    _advance(site, rows, state, copies)
    _observe(site, rows, state, out, copies)
