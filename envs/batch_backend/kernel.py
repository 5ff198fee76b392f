"""CityLearn's physics, the reward and the observation, compiled: one call steps all copies by one step.

CityLearn keeps its series as float32 and computes in a mixture of float32 and float64 that follows from NumPy's
promotion rules: a Python float gives way to a float32, a NumPy float64 does not. Where a result is float32
there, it is rounded to float32 here (`_f32`). So the copies agree with CityLearn bit by bit; without it they drift off by
tenths of a kilowatt hour over a year. The formulas are those of CityLearn 3.0.2:
`energy_model.Battery.charge`, `energy_model.StorageTank.charge`, `electric_vehicle_charger.Charger`,
`building.Building.update_*`, and `internal.runtime.CityLearnRuntimeService` for their order.

All that `begin` and `step` call is in this file: numba's cache looks at no other one, and would keep what was compiled of it.

Letters in shapes are those of `envs.batch_backend.records`.
"""

import math
from functools import partial
from typing import Any

import numpy as np
from numba import njit

from envs.batch_backend import records
from envs.batch_backend.records import Out, Rows, Site, State

_TINY = 1e-6  # CityLearn's placeholder for zero in denominators
_DRIFT_LOW, _DRIFT_HIGH = 0.6, 1.4
_KEY = 624  # words of a Mersenne Twister
_WIDTH = 4  # float64 in a vector register, as most processors have them


# With NumPy's error model a division needs no check for zero before it; none here has one that CityLearn's has not.
# Only compiled code may call `_compiled` and `_inlined`: a call from Python ends the process. What would make them callable
# takes a quarter of the time of compiling.
_within = partial(njit, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
_compiled, _inlined = _within(), _within(forceinline=True)
_entry = njit(error_model="numpy", cache=True)


@_inlined
def _f32(value: float) -> float:
    """The value as CityLearn's float32 arithmetic has it; operations on two of these round as float32 ones do."""
    return np.float64(np.float32(value))


@_entry
def seed_generator(key: np.ndarray, seed: int) -> None:
    """State of `numpy.random.RandomState(seed)` (Matsumoto and Nishimura 1998, 2002); its position is then 624."""
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
def uniform(key: np.ndarray, copy: Any) -> float:
    """Next number of `RandomState.uniform`, of the generator that `key` and the `position` of `copy` are the state of."""
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
        x = 2.0 * uniform(key, copy) - 1.0
        y = 2.0 * uniform(key, copy) - 1.0
        radius = x * x + y * y
        if 0.0 < radius < 1.0:
            break
    factor = math.sqrt(-2.0 * math.log(radius) / radius)
    copy.has_spare, copy.spare = 1, factor * x
    return factor * y


@_inlined
def _on_curve(curve: np.ndarray, k: int, which: int, points: int, value: float) -> float:
    """Piecewise linear, extrapolating: CityLearn's battery curves."""
    i = 0
    while i < points - 2 and curve[k, which, 0, i + 1] < value:
        i += 1
    x, y = curve[k, which, 0, i], curve[k, which, 1, i]
    return y + (curve[k, which, 1, i + 1] - y) * (value - x) / (curve[k, which, 0, i + 1] - x)


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


# -- batteries and their chargers, side by side ----------------------------------------------
#
# The loops over lanes have no branches, so that LLVM makes vector instructions of them: both sides of each choice are computed,
# also CityLearn's float32 (`narrow`) and float64 arithmetic. They are several short loops, as a processor looks ahead by some
# 200 instructions: one long chain of divisions and conversions would keep it waiting and take twice as long. Where no lane
# gives or no efficiency is from a curve (`gives`, `curved`), divisions without effect are left out.


@_inlined
def _commanded(lane: Any, j: int) -> tuple[float, float]:
    """Power that an action commands [kW], zero below the charger's least, and its part of the greatest power."""
    limit = lane.power_limit[j]
    greatest = max(limit, 0.0)
    power = abs(lane.wish[j]) * greatest
    power = 0.0 if power < max(min(lane.least[j], greatest), 0.0) else min(power, greatest)
    return power, power / max(limit, _TINY)


@_compiled
def _command(lane: Any, lanes: int, gives: bool, hours: float) -> None:
    """`Charger.update_connected_electric_vehicle_soc`: what chargers request of their vehicles' batteries in a step's hours."""
    for j in range(lanes):
        power, part = _commanded(lane, j)
        delivered, efficiency = part * lane.power_limit[j] * hours, lane.efficiency[j]
        request = delivered * efficiency
        if gives:
            given = -delivered / max(efficiency, _TINY)
            request = request if lane.wish[j] > 0.0 else given
        lane.request[j] = request
        lane.commanded[j] = power


@_inlined
def _stored(lane: Any, j: int) -> tuple[float, bool]:
    """Energy stored, and whether it is a float32: `max(float, float32)` is one only where that is greater."""
    stored, minimum = lane.soc[j] * np.float32(lane.capacity[j]), lane.minimum[j]
    narrow = stored > np.float32(minimum)
    return np.float64(stored) if narrow else minimum, narrow


@_inlined
def _limit(lane: Any, j: int, before: float, narrow: bool, root: float) -> float:
    """The request at the battery's terminals, cut to its power and to the room in it."""
    request, left, discharge_limit, greatest = lane.request[j], lane.left[j], lane.discharge_limit[j], lane.greatest[j]
    charging, wanted = request >= 0.0, abs(request)
    takes = max(left - before, 0.0) / max(root, _TINY)
    gives = max(before - discharge_limit, 0.0) * root
    room = takes if charging else gives
    before32, root32, zero = np.float32(before), np.float32(root), np.float32(0.0)
    takes32 = max(np.float32(left) - before32, zero) / max(root32, np.float32(_TINY))
    gives32 = max(before32 - np.float32(discharge_limit), zero) * root32
    room32 = takes32 if charging else gives32
    room = np.float64(room32) if narrow else room
    # The battery's greatest power is a Python float, which a comparison with a float32 rounds; the request is not.
    rounded = _f32(greatest)
    compared = rounded if narrow else greatest
    by_power = room if room < compared else greatest
    by_request = min(room, wanted)
    return by_power if greatest < wanted else by_request


@_compiled
def _limit_all(lane: Any, lanes: int) -> None:
    """First part of `Battery.charge`: the energy taken or given at the terminals."""
    for j in range(lanes):
        before, narrow = _stored(lane, j)
        lane.before[j] = before
        lane.limited[j] = _limit(lane, j, before, narrow, lane.root[j])


@_compiled
def _exchange(lane: Any, lanes: int, gives: bool) -> None:
    """Second part: energy stored afterwards."""
    for j in range(lanes):
        before, limited, root = lane.before[j], lane.limited[j], lane.root[j]
        capacity, minimum = lane.capacity[j], lane.minimum[j]
        rises = (lane.request[j] >= 0.0) | (limited == 0.0)
        more, less = before + limited * root, before
        if gives:
            less = before - limited / root
        after = more if rises else less
        full, empty = capacity < after, not after > minimum
        clipped = full if rises else empty
        end = capacity if rises else minimum
        after = end if clipped else after
        # A bound is a Python float and gives way to a float32.
        before32 = np.float32(before)
        narrow = clipped & (before32 > np.float32(minimum))
        change32, root32 = np.float64(np.float32(after) - before32), _f32(root)
        change = after - before
        lane.after[j] = after
        lane.change[j] = change32 if narrow else change
        lane.change_root[j] = root32 if narrow else root


@_compiled
def _settle(lane: Any, lanes: int) -> None:
    """Third part: state of charge, and the energy that the battery took at its terminals."""
    for j in range(lanes):
        lane.soc[j] = np.float32(lane.after[j] / max(lane.capacity[j], _TINY))
        change, root = lane.change[j], lane.change_root[j]
        took, gave = change / root, change * root
        lane.balance[j] = np.float32(took if change >= 0.0 else gave)


@_compiled
def _wear(lane: Any, lanes: int) -> None:
    """`Battery.degrade`: capacity that is left."""
    for j in range(lanes):
        left = lane.left[j]
        worn = np.float32(lane.wear[j]) * abs(lane.balance[j]) / np.float32(2.0 * max(left, _TINY))
        lane.left[j] = max(np.float32(left) - worn, np.float32(0.0))


@_compiled
def _take(lane: Any, lanes: int, curved: bool) -> None:
    """Energy that chargers took: zero without a command, whatever rounding does to the battery."""
    for j in range(lanes):
        balance, efficiency = lane.balance[j], lane.efficiency[j]
        # A constant efficiency is a Python float and gives way to the float32; one from a curve does not.
        took, gave = balance / np.float32(max(efficiency, _TINY)), balance * np.float32(efficiency)
        taken = took if balance >= 0.0 else gave
        if curved:
            took64, gave64 = np.float64(balance) / max(efficiency, _TINY), np.float64(balance) * efficiency
            taken64 = np.float32(took64 if balance >= 0.0 else gave64)
            taken = taken64 if lane.curved[j] != 0 else taken
        lane.taken[j] = np.float32(0.0) if lane.commanded[j] == 0.0 else taken


@_compiled
def _charger_curves(lane: Any, plugged: np.ndarray, charger: np.ndarray, curve: np.ndarray) -> None:
    """Efficiencies of the chargers that have an efficiency curve."""
    for j in range(plugged.size):
        c, charging = plugged[j].charger, lane.wish[j] > 0.0
        points = charger[c].charge_points if charging else charger[c].discharge_points
        lane.curved[j] = points
        if points:
            _, part = _commanded(lane, j)
            lane.efficiency[j] = _interpolate(curve, c, records.CHARGING if charging else records.DISCHARGING, points, part)


@_inlined
def _root(curve: np.ndarray, k: int, points: int, part: float) -> float:
    """Root of the efficiency at a part of the nominal power."""
    efficiency = _on_curve(curve, k, records.EFFICIENCY_CURVE, points, min(max(part, 0.0), 1.0))
    # CityLearn takes the power 0.5, which is rounded otherwise than a square root in one case of a thousand. LLVM would make
    # one of a constant exponent; it does not know that a curve has two rows, its x and its y.
    return efficiency ** (1.0 / curve.shape[2])


@_compiled
def _battery_curves(lane: Any, j: int, battery: Any, curve: np.ndarray, k: int, hours: float) -> None:
    """Greatest power and efficiency of a battery that has curves of these."""
    before, narrow = _stored(lane, j)
    if battery.power_points:
        capacity = max(battery.capacity, _TINY)
        level = _f32(before / _f32(capacity)) if narrow else before / capacity
        power = battery.nominal_power * _on_curve(curve, k, records.POWER_CURVE, battery.power_points, level)
        lane.greatest[j] = max(power, 0.0) * hours
    if battery.efficiency_points:
        nominal = max(battery.nominal_power, _TINY)
        requested = min(abs(lane.request[j]), lane.greatest[j])
        root = _root(curve, k, battery.efficiency_points, requested / hours / nominal)
        limited = _limit(lane, j, before, narrow, root)
        power = limited / hours
        # The room in the battery is a float32 there, and so is its power.
        if narrow and limited < min(abs(lane.request[j]), lane.greatest[j]):
            power = _f32(limited / _f32(hours))
        lane.root[j] = _root(curve, k, battery.efficiency_points, power / nominal)


@_inlined
def _load_kind(lane: Any, j: int, battery: Any) -> None:
    """Set the parameters that the batteries of a fleet often have in common."""
    lane.minimum[j], lane.discharge_limit[j] = battery.minimum_energy, battery.discharge_limit
    lane.wear[j], lane.root[j] = battery.wear, battery.flat_root


@_inlined
def _load_battery(lane: Any, j: int, battery: Any, soc: float, left: float, hours: float) -> None:
    lane.soc[j], lane.left[j], lane.capacity[j], lane.greatest[j] = soc, left, battery.capacity, battery.flat_power * hours


@_inlined
def _wish(granted: np.ndarray, index: int) -> float:
    """An action as `_grant` has left it; 0 where there is none."""
    return 0.0 if index < 0 else granted[np.uint64(index)]


@_compiled
def _load_vehicles(
    lane: Any, plugged: np.ndarray, charger: np.ndarray, battery: np.ndarray, granted: np.ndarray, soc: np.ndarray,
    degraded: np.ndarray, hours: float,
) -> bool:  # fmt: skip
    """Fill the lanes with vehicles and the commands of their chargers; whether any command is to discharge a vehicle."""
    gives = False
    for j in range(plugged.size):
        v, unit = plugged[j].vehicle, charger[plugged[j].charger]
        _load_battery(lane, j, battery[v], soc[v], degraded[v], hours)
        wish, charge_max, discharge_max = _wish(granted, unit.action), unit.charge_max, unit.discharge_max
        lane.wish[j], lane.power_limit[j] = wish, charge_max if wish > 0.0 else discharge_max
        gives |= wish < 0.0
    return gives


@_compiled
def _load_kinds(lane: Any, plugged: np.ndarray, charger: np.ndarray, battery: np.ndarray) -> None:
    """Fill the lanes with the parameters that may differ between vehicles and chargers; after `_load_vehicles`."""
    for j in range(plugged.size):
        unit = charger[plugged[j].charger]
        charge_min, discharge_min = unit.charge_min, unit.discharge_min
        _load_kind(lane, j, battery[plugged[j].vehicle])
        lane.efficiency[j], lane.least[j] = unit.efficiency, charge_min if lane.wish[j] > 0.0 else discharge_min


@_compiled
def _load_common_kind(lane: Any, charger: np.ndarray, battery: np.ndarray) -> bool:
    """Fill all lanes with the parameters of vehicles and chargers, if all have the same; then no row needs `_load_kinds`."""
    for c in range(charger.size):
        if (
            charger[c].charge_points
            or charger[c].discharge_points
            or charger[c].efficiency != charger[0].efficiency
            or charger[c].charge_min != charger[0].charge_min
            or charger[c].discharge_min != charger[0].charge_min
        ):
            return False
    for v in range(battery.size):
        if (
            battery[v].power_points
            or battery[v].efficiency_points
            or battery[v].minimum_energy != battery[0].minimum_energy
            or battery[v].discharge_limit != battery[0].discharge_limit
            or battery[v].wear != battery[0].wear
            or battery[v].flat_root != battery[0].flat_root
        ):
            return False
    if battery.size and charger.size:
        for j in range(records.LANES):
            _load_kind(lane, j, battery[0])
            lane.efficiency[j], lane.least[j], lane.curved[j] = charger[0].efficiency, charger[0].charge_min, 0
    return True


@_compiled
def _unload_vehicles(
    lane: Any, plugged: np.ndarray, charger: np.ndarray, soc: np.ndarray, degraded: np.ndarray, energy: np.ndarray
) -> None:
    """Write back what `_load_vehicles` read. Add up what chargers took in their order, which is that of the buildings."""
    building, total = np.uint64(0), energy[0, records.CHARGING_KWH]
    for j in range(plugged.size):
        v, unit = plugged[j].vehicle, charger[plugged[j].charger]
        # CityLearn does not charge where there is no action.
        if unit.action < 0:
            continue
        soc[v], degraded[v] = lane.soc[j], lane.left[j]
        if np.uint64(unit.building) != building:
            energy[building, records.CHARGING_KWH] = total
            building = np.uint64(unit.building)
            total = energy[building, records.CHARGING_KWH]
        total += lane.taken[j]
    energy[building, records.CHARGING_KWH] = total


@_compiled
def _charge(lane: Any, lanes: int, gives: bool) -> None:
    _limit_all(lane, lanes)
    _exchange(lane, lanes, gives)
    _settle(lane, lanes)
    _wear(lane, lanes)


@_inlined
def _whole_vectors(lanes: int) -> int:
    """Lanes with those that fill up the last vector; old values in them have no effect."""
    return (lanes + _WIDTH - 1) & -_WIDTH


# -- thermal devices and tanks ---------------------------------------------------------------


@_inlined
def _supply(meter: Any, tank: np.ndarray, load: float, battery: float) -> float:
    """`Building.downward_electrical_flexibility` [kWh]: what PV and battery have left in a power outage, else infinite."""
    if not meter.off_grid:
        return np.inf
    used = np.float32(tank[records.COOLING].consumption + tank[records.HEATING].consumption)
    used = np.float32(np.float32(used + tank[records.DHW].consumption) + np.float32(load))
    return max(np.float64(np.float32(abs(meter.solar) - np.float32(used + np.float32(battery)))), 0.0)


@_inlined
def _output_limit(thermal: Any, tank: Any, cop: float, supply: float) -> tuple[float, bool]:
    """`get_max_output_power` of a thermal device, with what it has already taken in this step; whether it is a float64."""
    used = np.float64(tank.consumption)
    double = thermal.power_type == records.DOUBLE
    left = thermal.device_power - used if double else _f32(_f32(thermal.device_power) - used)
    # NumPy joins what a heater has left with the supply in one array; a heat pump takes one of both as it is.
    heats = thermal.device_wide != 0
    wide = double or (heats and supply == np.inf)
    if not left < supply:
        left, wide = supply, wide and heats
    return left * cop if wide else _f32(left * _f32(cop)), wide


@_inlined
def _demand(thermal: Any, building: Any, meter: Any, use: int, cop: float, granted: np.ndarray, step: int) -> float:
    """`LSTMDynamicsBuilding.update_*_demand`: what a device is to deliver [kWh], by its action or else by the series."""
    if thermal.device_action < 0 or step <= building.lookback:
        return np.float64(meter.demand[use])
    if not meter.mode & (records.COOLS if use == records.COOLING else records.HEATS):
        return 0.0
    part = max(thermal.device_sign * _wish(granted, thermal.device_action), 0.0)
    if thermal.power_type == records.SINGLE:
        return _f32(_f32(_f32(_f32(part) * thermal.device_power) * _f32(thermal.device_hours)) * _f32(cop))
    power = part * thermal.device_power * thermal.device_hours
    if thermal.device_wide and thermal.power_type == records.PYTHON:
        power = min(power, _f32(thermal.device_power))
    return _f32(power * cop)


@_compiled
def _run_device(thermal: Any, tank: Any, demand: float, cop: float, supply: float) -> None:
    """`Building.update_energy_from_*_device`: the device delivers what the tank does not."""
    given = max(-np.float64(tank.balance), 0.0)
    output = _f32(demand - given)
    limit, limit_wide = _output_limit(thermal, tank, cop, supply)
    wide = False
    if limit < output:
        output, wide = limit, limit_wide
    tank.given = np.float32(output)
    consumption = output / cop if wide else _f32(output / _f32(cop))
    tank.consumption = np.float32(np.float64(tank.consumption) + max(0.0, consumption))


@_compiled
def _use_tank(thermal: Any, tank: Any, hours: float, demand: float, cop: float, action: float, supply: float) -> None:
    """`Building.update_*_storage` and `StorageTank.charge`."""
    capacity, root = thermal.capacity, thermal.root_efficiency
    energy = action * capacity * hours
    if energy > 0.0:
        limit, wide = _output_limit(thermal, tank, cop, supply)
        compared = energy if wide else _f32(energy)
        if not compared < limit:
            energy = limit
    else:
        limit = -demand
        if not _f32(energy) > limit:
            energy = limit
    if energy >= 0.0:
        if not math.isnan(thermal.greatest_input):
            energy = min(energy, thermal.greatest_input)
    elif not math.isnan(thermal.greatest_output):
        energy = max(-thermal.greatest_output, energy)
    stored = _f32(np.float64(tank.soc) * _f32(capacity))
    clipped = False
    if energy >= 0.0:
        after = stored + energy * root
        if capacity < after:
            after, clipped = capacity, True
    else:
        after = stored + energy / root
        if not after > 0.0:
            after, clipped = 0.0, True
    tank.soc = np.float32(after / max(capacity, _TINY))
    # Against an empty tank's Python zero nothing is rounded.
    narrow = clipped and (stored > 0.0 or thermal.capacity_type == records.SINGLE)
    change = _f32(_f32(after) - stored) if narrow else after - stored
    root = _f32(root) if narrow else root
    balance = _f32(change / root if change >= 0.0 else change * root)
    tank.balance = np.float32(balance)
    consumption = _f32(max(balance, 0.0) / _f32(cop))
    tank.consumption = np.float32(np.float64(tank.consumption) + consumption)


@_compiled
def _run_thermal(site: Site, tanks: np.ndarray, meter: Any, n: int, granted: np.ndarray, step: int, battery: float) -> None:
    """Devices and tanks of a building, shape (3,); `battery` is what its battery has taken in this step before [kWh]."""
    for use in range(3):
        tanks[use].consumption, tanks[use].balance = np.float32(0.0), np.float32(0.0)
    hours = site.building[n].step_hours
    for use in range(3):
        tank, thermal, cop = tanks[use], site.thermal[n, use], meter.cop[use]
        demand = _demand(thermal, site.building[n], meter, use, cop, granted, step)
        tank.demand = np.float32(demand)
        wish = _wish(granted, thermal.action)
        # A tank that gives goes before its device, one that takes after it.
        if wish < 0.0:
            _use_tank(thermal, tank, hours, demand, cop, wish, np.inf)
            _run_device(thermal, tank, demand, cop, _supply(meter, tanks, 0.0, battery))
        else:
            _run_device(thermal, tank, demand, cop, _supply(meter, tanks, 0.0, battery))
            _use_tank(thermal, tank, hours, demand, cop, wish, _supply(meter, tanks, 0.0, battery))


@_compiled
def _first_thermal(tank: Any, cop: float) -> None:
    """In the first step of an episode CityLearn computes the devices' consumption anew, from output and the tank's balance."""
    total = _f32(np.float64(tank.given) + np.float64(tank.balance))
    tank.consumption = np.float32(_f32(total / _f32(cop)))


# -- power outages ---------------------------------------------------------------------------


@_compiled
def _charge_alone(site: Site, state: State, out: Out, b: int, n: int, request: float) -> None:
    lane, battery, hours = state.lane[0], site.battery[n], site.building[n].step_hours
    _load_battery(lane, 0, battery, state.soc[b, n], state.degraded[b, n], hours)
    _load_kind(lane, 0, battery)
    lane.request[0] = request
    _battery_curves(lane, 0, battery, site.battery_curve, n, hours)
    _charge(lane, _whole_vectors(1), True)
    state.soc[b, n], state.degraded[b, n], out.energy[b, n, records.BATTERY_KWH] = lane.soc[0], lane.left[0], lane.balance[0]


@_compiled
def _act_off_grid(site: Site, state: State, out: Out, meter: Any, b: int, n: int) -> None:
    """Carry out the actions of a building in a power outage: each device in its turn gets what PV and battery have left."""
    tank, step, granted = state.tank[b, n], state.copy[b].step, state.granted[b]
    battery, hours = 0.0, site.building[n].step_hours
    wish = _wish(granted, site.building[n].battery_action)
    request = wish * site.battery[n].nominal_power * hours
    if wish < 0.0:
        # At most what the building would use without control.
        need = 0.0
        for use in range(3):
            need += np.float64(meter.demand[use]) / meter.cop[use] / hours
        need = max(need + np.float64(meter.load) / hours + np.float64(meter.solar) / hours, 0.0) * hours
        _charge_alone(site, state, out, b, n, max(request, -need))
        battery = float(out.energy[b, n, records.BATTERY_KWH])
    if site.building[n].thermal:
        _run_thermal(site, tank, meter, n, granted, step, battery)
    load = min(np.float64(meter.load), _supply(meter, tank, 0.0, battery))
    out.energy[b, n, records.LOAD_KWH] = load
    if not wish < 0.0:
        supply = _supply(meter, tank, load, battery)
        # A comparison with a float32 rounds the request; a supply of nothing is a Python float.
        if supply < (_f32(request) if supply > 0.0 else request):
            request = supply
        _charge_alone(site, state, out, b, n, request)
    if step == 0:
        _first_off_grid(site, tank, meter, n, load, float(out.energy[b, n, records.BATTERY_KWH]))


@_compiled
def _first_off_grid(site: Site, tank: np.ndarray, meter: Any, n: int, load: float, battery: float) -> None:
    """`Building._clip_outage_electric_loads_to_local_supply`: in the first step, devices share what there is once more."""
    left = abs(float(meter.solar)) + max(-battery, 0.0)
    left = max(left - min(load, left), 0.0)
    if site.building[n].thermal:
        for use in (records.DHW, records.HEATING, records.COOLING):
            _first_thermal(tank[use], meter.cop[use])
            served = min(max(float(tank[use].consumption), 0.0), left)
            tank[use].consumption = np.float32(served)
            left = max(left - served, 0.0)


# -- limits of a building's connection -------------------------------------------------------


@_inlined
def _asked(unit: Any, wish: float) -> float:
    """`Charger.get_requested_power_kw` [kW], negative where the vehicle is to give."""
    limit = unit.charge_max if wish > 0.0 else unit.discharge_max
    least = unit.charge_min if wish > 0.0 else unit.discharge_min
    greatest = max(limit, 0.0)
    power = abs(wish) * greatest
    power = 0.0 if power < max(min(least, greatest), 0.0) else power
    return power if wish > 0.0 else -power


@_inlined
def _part(power: float, on: int) -> float:
    return 0.0 if on == 0 else (power / records.THIRD if on == records.THIRD else power)


@_compiled
def _limit_charging(site: Site, n: int, wish: np.ndarray, room: Any) -> None:
    """`BuildingOpsService._apply_legacy_charging_constraints`: of what chargers take, in all and on each phase."""
    building, charger = site.building[n], site.charger
    asked, scale = np.zeros(charger.size), np.ones(charger.size)
    total, violation = 0.0, 0.0
    for c in range(charger.size):
        if charger[c].building == n and _wish(wish, charger[c].action) > 0.0:
            asked[c] = _asked(charger[c], wish[charger[c].action])
            total += asked[c]
    _open(building, room)
    room.violation = 0.0
    if total == 0.0:
        return
    limit = building.limit[0, 0]
    if total > limit:
        scale[:] = limit / total
        violation += total - limit
    for p in range(building.phases):
        limit, used = building.limit[1 + p, 0], 0.0
        for c in range(charger.size):
            if charger[c].building == n and charger[c].on_phase[p]:
                used += asked[c] * scale[c]
        if used > limit:
            for c in range(charger.size):
                if charger[c].building == n and charger[c].on_phase[p]:
                    scale[c] *= limit / used
            violation += used - limit
    for c in range(charger.size):
        if charger[c].building == n and _wish(wish, charger[c].action) > 0.0:
            power = asked[c] * scale[c]
            at = charger[c].action
            wish[at] = max(0.0, min(wish[at], power / charger[c].charge_max))
    for p in range(1 + building.phases):
        used = 0.0
        for c in range(charger.size):
            if charger[c].building == n and (p == 0 or charger[c].on_phase[p - 1]):
                used += asked[c] * scale[c]
        room.left[p, 0] -= used
    room.violation = violation * building.step_hours


@_compiled
def _beyond(building: Any, load: np.ndarray) -> float:
    """`BuildingOpsService._electrical_service_violation_kw`."""
    violation = 0.0
    for p in range(1 + building.phases):
        for way in range(2):
            # A limit that is not there is NaN, which `max` leaves out as its second argument.
            beyond = (load[p] if way == 0 else -load[p]) - building.limit[p, way]
            violation += beyond if beyond > 0.0 else 0.0
    return violation


@_compiled
def _loads(base: np.ndarray, asked: np.ndarray, scale: np.ndarray, load: np.ndarray) -> None:
    """`BuildingOpsService._compute_totals`: power in all and on each phase, shape (1 + phases,)."""
    for p in range(load.size):
        load[p] = base[p]
    for i in range(scale.size):
        for p in range(load.size):
            load[p] += asked[i, p] * scale[i]


@_compiled
def _cut(current: float, limit: float, sign: float, asked: np.ndarray, scale: np.ndarray) -> bool:
    """`BuildingOpsService._scale_for_import_scope`, and of export where `sign` is -1; `asked` of shape (controls,)."""
    if not sign * current > limit + 1e-9:
        return False
    relevant = 0.0
    for i in range(scale.size):
        if sign * asked[i] > 0.0 and scale[i] > 0.0:
            relevant += scale[i] * abs(asked[i])
    if relevant <= 1e-9:
        return False
    allowed = limit - (current - relevant) if sign > 0.0 else limit + (current + relevant)
    factor = 0.0 if allowed <= 0.0 else min(1.0, allowed / relevant)
    if factor >= 1.0 - 1e-9:
        return False
    for i in range(scale.size):
        if sign * asked[i] > 0.0 and scale[i] > 0.0:
            scale[i] *= factor
    return True


@_inlined
def _as_action(unit: Any, power: float) -> float:
    """`BuildingOpsService._charger_action_from_power_kw`."""
    most, least = (unit.charge_max, unit.charge_min) if power > 0.0 else (unit.discharge_max, unit.discharge_min)
    if power == 0.0 or most <= 0.0 or (least > 0.0 and abs(power) < least):
        return 0.0
    part = min(abs(power) / most, 1.0)
    return part if power > 0.0 else -part


@_inlined
def _base_load(building: Any, meter: Any, load: np.ndarray) -> None:
    """`BuildingOpsService._estimate_non_controllable_base_power` of a building without thermal devices and appliances."""
    load[0] = np.float64(meter.load) / building.step_hours + np.float64(meter.solar) / building.step_hours
    for p in range(load.size - 1):
        load[1 + p] = _part(load[0], building.on_phase[p])


@_compiled
def _limit_service(site: Site, n: int, meter: Any, wish: np.ndarray, room: Any) -> None:
    """`BuildingOpsService._apply_electrical_service_constraints`: of what chargers and battery take and give."""
    building, charger, scopes = site.building[n], site.charger, 1 + site.building[n].phases
    base, load = np.zeros(scopes), np.zeros(scopes)
    _base_load(building, meter, base)
    # Chargers and batteries that ask for nothing keep zeros, which change no sum. The battery is the last entry.
    asked, scale = np.zeros((charger.size + 1, scopes)), np.ones(charger.size + 1)
    for c in range(charger.size + 1):
        if c < charger.size:
            power = _asked(charger[c], _wish(wish, charger[c].action)) if charger[c].building == n else 0.0
        else:
            power = _wish(wish, building.battery_action) * max(site.battery[n].nominal_power, 0.0)
        if abs(power) > 1e-9:
            asked[c, 0] = power
            for p in range(scopes - 1):
                asked[c, 1 + p] = _part(power, charger[c].on_phase[p] if c < charger.size else building.battery_on_phase[p])
    _loads(base, asked, scale, load)
    violation = _beyond(building, load)
    for _ in range(8):
        _loads(base, asked, scale, load)
        changed = False
        for p in range(scopes):
            changed |= _cut(load[p], building.limit[p, 0], 1.0, asked[:, p], scale)
            changed |= _cut(load[p], building.limit[p, 1], -1.0, asked[:, p], scale)
        if not changed:
            break
    _loads(base, asked, scale, load)
    for c in range(charger.size):
        if charger[c].building == n and charger[c].action >= 0:
            wish[charger[c].action] = _as_action(charger[c], asked[c, 0] * scale[c])
    if building.battery_action >= 0:
        nominal = site.battery[n].nominal_power
        power = asked[charger.size, 0] * scale[charger.size]
        wish[building.battery_action] = min(max(power / nominal, -1.0), 1.0) if nominal > 0.0 else 0.0
    room.violation = max(violation, _beyond(building, load)) * building.step_hours
    for p in range(scopes):
        room.left[p, 0], room.left[p, 1] = building.limit[p, 0] - load[p], building.limit[p, 1] + load[p]


@_compiled
def _open(building: Any, room: Any) -> None:
    # Assigning whole arrays would take seconds to compile, as Numba adds its errors for shapes that differ.
    for p in range(room.left.shape[0]):
        for direction in range(room.left.shape[1]):
            room.left[p, direction] = building.limit[p, direction]


@_compiled
def _whole_room(building: Any, room: Any, meter: Any) -> None:
    """`Building._set_default_charging_headroom`, as an episode begins."""
    room.violation = 0.0
    _open(building, room)
    if building.connection == records.SERVICE:
        load = np.zeros(1 + building.phases)
        _base_load(building, meter, load)
        for p in range(load.size):
            room.left[p, 0], room.left[p, 1] = building.limit[p, 0] - load[p], building.limit[p, 1] + load[p]


# -- deferrable appliances -------------------------------------------------------------------


@_inlined
def _pass_cycles(appliance: Any, cycle: np.ndarray, run: Any, now: int) -> None:
    """`DeferrableAppliance._update_cycle_states`. Cycles do not overlap: those before the next have ended or were missed."""
    if run.current >= 0 and now > run.started + cycle[run.current].steps - 1:
        run.current = -1
    while run.next < appliance.end and now > cycle[run.next].latest:
        if run.missed < 0:
            run.missed = run.next
        run.next += cycle[run.next].steps


@_compiled
def _begin_cycles(appliance: Any, cycle: np.ndarray, run: Any, row: int) -> None:
    """Cycles that could start before an episode only are none of its."""
    run.next, run.current, run.started = appliance.first, -1, 0
    _pass_cycles(appliance, cycle, run, row + appliance.offset)
    run.missed = -1


@_inlined
def _can_start(cycle: Any, now: int, copy: Any) -> bool:
    """A cycle has to end before the last row of the episode, whose energy CityLearn does not count."""
    fits = now + cycle.steps - 1 <= cycle.deadline and copy.step + cycle.steps < copy.hours + 1
    return fits and cycle.earliest <= now <= cycle.latest


@_compiled
def _act_appliances(site: Site, state: State, out: Out, copies: np.ndarray) -> None:
    """`DeferrableAppliance.start_cycle`."""
    for b in copies:
        copy, energy = state.copy[b], out.energy[b]
        energy[:, records.APPLIANCE_KWH] = 0.0
        for k in range(site.appliance.size):
            appliance, run = site.appliance[k], state.run[b, k]
            now = copy.start + copy.step + appliance.offset
            _pass_cycles(appliance, site.cycle, run, now)
            starts = _wish(state.granted[b], appliance.action) > appliance.threshold and run.next < appliance.end
            if starts and _can_start(site.cycle[run.next], now, copy):
                run.current, run.started = run.next, now
                run.next += site.cycle[run.next].steps
            if run.current >= 0:
                energy[appliance.building, records.APPLIANCE_KWH] += site.cycle[run.current + now - run.started].energy


@_compiled
def _of_appliance(site: Site, state: State, b: int, k: int, feature: int) -> float:
    """`DeferrableAppliance.observations`."""
    appliance, run, copy = site.appliance[k], state.run[b, k], state.copy[b]
    hours = site.building[appliance.building].step_hours
    now = copy.start + copy.step + appliance.offset
    _pass_cycles(appliance, site.cycle, run, now)
    runs = run.current >= 0
    if not runs and run.next == appliance.end:
        return appliance.shown[feature] if run.missed < 0 else site.cycle[run.missed].shown[records.MISSED, feature]
    cycle = site.cycle[run.current + now - run.started if runs else run.next]
    if feature == records.UNTIL_DEADLINE:
        return max(float(cycle.deadline - now), 0.0) * hours
    if runs:
        return cycle.shown[records.RUNNING, feature]
    slack = max(float(cycle.latest - now), 0.0)
    ratio = min(slack / max(float(cycle.latest - cycle.earliest), 1.0), 1.0)
    if feature == records.CAN_START:
        return 1.0 if _can_start(cycle, now, copy) else 0.0
    if feature == records.UNTIL_LATEST:
        return slack * hours
    if feature == records.SLACK:
        return slack
    if feature in (records.SLACK_RATIO, records.URGENCY):
        return ratio if feature == records.SLACK_RATIO else 1.0 - ratio
    return cycle.shown[records.PENDING, feature]


@_compiled
def _beside_devices(site: Site, state: State, b: int, observed: Any) -> float:
    """An observation of an appliance or of a building's connection."""
    n, use = observed.building, observed.use
    if observed.kind == records.APPLIANCE_STATE:
        return _of_appliance(site, state, b, n, use)
    room = state.room[b, n]
    if observed.kind == records.VIOLATION:
        return room.violation
    return room.left[use, 0] if observed.kind == records.IMPORT_ROOM else room.left[use, 1]


# -- the phases of a step, each over all copies of a range ---------------------------------


@_compiled
def _grant(site: Site, rows: Rows, state: State, actions: np.ndarray, copies: np.ndarray) -> None:
    """Bring actions into CityLearn's ranges, which end at -1 and 1, and within the limits of the buildings' connections."""
    for b in copies:
        given, granted = actions[b], state.granted[b]
        for a in range(granted.size):
            part = (min(max(given[a], -1.0), 1.0) + 1.0) / 2.0
            granted[a] = min(max(site.action[a].low + part * site.action[a].span, -1.0), 1.0)
        for n in range(site.building.size):
            if site.building[n].connection == records.CHARGING_LIMITS:
                _limit_charging(site, n, granted, state.room[b, n])
            elif site.building[n].connection == records.SERVICE:
                meter = rows.meter[state.copy[b].start + state.copy[b].step, n]
                _limit_service(site, n, meter, granted, state.room[b, n])


@_compiled
def _act_stationary(site: Site, rows: Rows, state: State, out: Out, copies: np.ndarray) -> None:
    buildings, battery, lane, hours = site.building.size, site.battery, state.lane[0], site.building[0].step_hours
    for b in copies:
        copy = state.copy[b]
        for n in range(buildings):
            if site.building[n].thermal:
                tank, meter = state.tank[b, n], rows.meter[copy.start + copy.step, n]
                if meter.off_grid:
                    continue
                _run_thermal(site, tank, meter, n, state.granted[b], copy.step, 0.0)
                if copy.step == 0:
                    for use in range(3):
                        _first_thermal(tank[use], meter.cop[use])
    for start in range(0, copies.size * buildings, records.LANES):
        lanes = min(records.LANES, copies.size * buildings - start)
        for j in range(lanes):
            b, n = copies[(start + j) // buildings], (start + j) % buildings
            _load_battery(lane, j, battery[n], state.soc[b, n], state.degraded[b, n], hours)
            _load_kind(lane, j, battery[n])
            wish = _wish(state.granted[b], site.building[n].battery_action)
            lane.request[j] = wish * battery[n].nominal_power * hours
            _battery_curves(lane, j, battery[n], site.battery_curve, n, hours)
        _charge(lane, _whole_vectors(lanes), True)
        for j in range(lanes):
            b, n = copies[(start + j) // buildings], (start + j) % buildings
            if site.building[n].outages and rows.meter[state.copy[b].start + state.copy[b].step, n].off_grid:
                continue
            state.soc[b, n], state.degraded[b, n] = lane.soc[j], lane.left[j]
            out.energy[b, n, records.BATTERY_KWH] = lane.balance[j]
    for n in range(buildings):
        if site.building[n].outages:
            for b in copies:
                meter = rows.meter[state.copy[b].start + state.copy[b].step, n]
                if meter.off_grid:
                    _act_off_grid(site, state, out, meter, b, n)


@_compiled
def _act_vehicles(site: Site, rows: Rows, state: State, out: Out, copies: np.ndarray) -> None:
    buildings, charger, lane, hours = site.building.size, site.charger, state.lane[0], site.building[0].step_hours
    battery, curve = site.battery[buildings:], site.battery_curve[buildings:]
    alike = _load_common_kind(lane, charger, battery)
    for b in copies:
        row = state.copy[b].start + state.copy[b].step
        soc, degraded, energy = state.soc[b, buildings:], state.degraded[b, buildings:], out.energy[b]
        energy[:, records.CHARGING_KWH] = 0.0
        end, at_once = rows.hour[row + 1].first_plugged, rows.hour[row].at_once
        for first in range(rows.hour[row].first_plugged, end, at_once):
            plugged = rows.plugged[first : min(first + at_once, end)]
            lanes = _whole_vectors(plugged.size)
            gives = _load_vehicles(lane, plugged, charger, battery, state.granted[b], soc, degraded, hours)
            if not alike:
                _load_kinds(lane, plugged, charger, battery)
                _charger_curves(lane, plugged, charger, site.charger_curve)
            _command(lane, lanes, gives, hours)
            if not alike:
                for j in range(plugged.size):
                    _battery_curves(lane, j, battery[plugged[j].vehicle], curve, plugged[j].vehicle, hours)
            _charge(lane, lanes, gives)
            _take(lane, lanes, not alike)
            _unload_vehicles(lane, plugged, charger, soc, degraded, energy)


@_compiled
def _balance(site: Site, rows: Rows, state: State, out: Out, copies: np.ndarray) -> None:
    """Net consumption as `Building.update_variables` sums it, in its order."""
    energy, tank, zero = out.energy, state.tank, np.float32(0.0)
    for b in copies:
        row = state.copy[b].start + state.copy[b].step
        for n in range(site.building.size):
            meter = rows.meter[row, n]
            net = zero
            if site.building[n].thermal:
                net = np.float32(tank[b, n, records.COOLING].consumption + tank[b, n, records.HEATING].consumption)
                net = np.float32(net + tank[b, n, records.DHW].consumption)
            net = np.float32(net + meter.load)
            net = np.float32(net + energy[b, n, records.BATTERY_KWH])
            net = np.float32(net + meter.solar)
            net = np.float32(net + energy[b, n, records.CHARGING_KWH])
            net = np.float32(net + energy[b, n, records.APPLIANCE_KWH])
            net = zero if meter.off_grid else net
            energy[b, n, records.NET_KWH] = net


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


@_inlined
def _owed(session: Any, held_soc: np.ndarray, start: int, row: int, stays: bool, soc: float) -> float:
    """Energy that a vehicle is without after the step at a row, see `envs.objective.reference.Reference.due_soc`."""
    due = np.float64(held_soc[session.offset + row + stays - session.start])
    if not stays:
        brought = session.arrival if session.start >= start else np.float64(held_soc[session.offset + start - session.start])
        due = min(brought, due)
    return max(due - np.float64(soc), 0.0) * session.capacity / session.efficiency


@_compiled
def _reward(site: Site, rows: Rows, state: State, out: Out, copies: np.ndarray) -> None:
    """Terms of `envs.objective.reward.improvement_terms`, repeated here for speed; a test holds them to it."""
    buildings, session, soc, settles = site.building.size, rows.session, state.soc, rows.held_soc.size > 0
    recorded = out.session_missing.shape[0] > 0
    for b in copies:
        copy = state.copy[b]
        row = copy.start + copy.step
        hour, first_recorded = rows.hour[row], rows.hour[copy.start].first_departure
        reward = site.reward[hour.year]
        prices = reward.demand_price
        emission, cost, solar, net = 0.0, 0.0, 0.0, 0.0
        for n in range(buildings):
            meter = rows.meter[row, n]
            kwh = np.float64(out.energy[b, n, records.NET_KWH])
            drawn = max(kwh, 0.0)
            net += kwh
            emission += drawn * np.float64(meter.carbon)
            cost += drawn * np.float64(meter.price)
            solar += max(-np.float64(meter.solar) - max(-kwh, 0.0), 0.0)
        day = state.day[b]
        peak, reference_peak = max(day.peak, net), max(day.reference_peak, hour.net)
        rise, reference_rise = peak - day.peak, reference_peak - day.reference_peak
        day.peak, day.reference_peak = peak, reference_peak
        reference_cost = hour.energy_cost
        if prices[0] != 0.0 or prices[1] != 0.0:
            first, last = hour.month_from, hour.month_to
            share = (min(last, copy.start + copy.hours) - max(first, copy.start)) / (last - first)
            cost += _raise_peak(prices, copy.peak, hour.peak_hour, net) * share
            reference_cost += _raise_peak(prices, copy.reference_peak, hour.peak_hour, hour.net) * share
        missing, reference_missing = 0.0, 0.0
        for s in range(hour.first_departure, rows.hour[row + 1].first_departure):
            short = session[s].required - np.float64(soc[b, buildings + session[s].vehicle])
            lacking = short * session[s].capacity if short > reward.met_tolerance else 0.0
            if recorded:
                out.session_missing[b, s - first_recorded] = lacking
            missing += lacking
            reference_missing += session[s].reference_missing
        if settles:
            first, last = hour.first_departure, rows.hour[row + 1].first_departure
            # Those that leave owe and, where a run ends, those that stay. By order of ends, the longest says how far to look.
            ends = row + 1 + (reward.longest + 1 if copy.step + 1 == copy.hours else 0)
            for s in range(first, rows.hour[min(ends, rows.hour.size - 1)].first_departure):
                if session[s].start > row or not (session[s].gives or s >= last):
                    continue
                owed = _owed(session[s], rows.held_soc, copy.start, row, s >= last, soc[b, buildings + session[s].vehicle])
                if recorded:
                    out.session_owed[b, s - first_recorded] = owed
                meter = rows.meter[row, session[s].building]
                emission += owed * np.float64(meter.carbon)
                cost += owed * np.float64(meter.price)
        ramp = 0.0 if math.isnan(copy.net) else abs(net - copy.net)
        reference_ramp = 0.0 if math.isnan(copy.reference_net) else abs(hour.net - copy.reference_net)
        copy.net, copy.reference_net = net, hour.net
        gains = (
            hour.emission - emission, reference_cost - cost, solar - hour.solar_use, reference_ramp - ramp,
            reference_missing - missing, reference_rise - rise,
        )  # fmt: skip
        # What people feel is known once the models have run, see `envs.batch_backend.simulator`.
        for i in range(6):
            mean = reward.mean[i]
            out.terms[b, i] = reward.weight[i] * gains[i] / mean if mean > 0.0 else 0.0


@_inlined
def _stand_by(battery: Any, soc: np.ndarray, previous: np.ndarray, b: int, k: int) -> None:
    level = soc[b, k]
    previous[b, k] = level
    kept = np.float32(level * np.float32(battery.kept))
    soc[b, k] = min(max(kept, np.float32(battery.minimum_soc)), np.float32(1.0))


@_compiled
def _park(site: Site, rows: Rows, state: State, copies: np.ndarray) -> None:
    """Vehicles that are not plugged in at the next row: standby losses, CityLearn's drift, and arrivals that are known."""
    buildings, battery, key, soc, previous = site.building.size, site.battery, state.key, state.soc, state.previous_soc
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
            if event.kind == records.DRIFT:
                factor = 1.0 + battery[k].drift * _gauss(own_key, copy)
                factor = min(max(factor, _DRIFT_LOW), _DRIFT_HIGH)
                soc[b, k] = min(max(np.float64(previous[b, k]) * factor, 0.0), 1.0)
            elif event.kind == records.SET:
                soc[b, k] = event.soc


@_compiled
def _advance_vehicles(
    plugged: np.ndarray, battery: np.ndarray, soc: np.ndarray, previous: np.ndarray, looks_ahead: bool
) -> None:
    """Standby losses and arrivals of the vehicles that are plugged in."""
    for i in range(plugged.size):
        v, before, arrival = plugged[i].vehicle, plugged[i].before, plugged[i].arrival
        level = soc[v]
        level = before if looks_ahead and not math.isnan(before) else level
        previous[v] = level
        kept = min(max(level * np.float32(battery[v].kept), np.float32(battery[v].minimum_soc)), np.float32(1.0))
        soc[v] = kept if math.isnan(arrival) else arrival


@_compiled
def _advance(site: Site, rows: Rows, state: State, copies: np.ndarray) -> None:
    """To the next row: standby losses of batteries, tanks and plugged-in vehicles, and arrivals, in CityLearn's order."""
    buildings, battery, soc, previous = site.building.size, site.battery, state.soc, state.previous_soc
    one, zero = np.float32(1.0), np.float32(0.0)
    for b in copies:
        copy = state.copy[b]
        copy.step += 1
        row = copy.start + copy.step
        for n in range(buildings):
            _stand_by(battery[n], soc, previous, b, n)
            if site.building[n].thermal:
                for use in range(3):
                    tank = state.tank[b, n, use]
                    tank.previous_soc = tank.soc
                    kept = np.float32(tank.soc * np.float32(site.thermal[n, use].kept))
                    tank.soc = min(max(kept, zero), one)
        plugged = rows.plugged[rows.hour[row].first_plugged : rows.hour[row + 1].first_plugged]
        # Before the second step CityLearn has not looked ahead yet.
        _advance_vehicles(plugged, battery[buildings:], soc[b, buildings:], previous[b, buildings:], copy.step >= 2)


@_inlined
def _show(observation: np.ndarray, observed: Any, raw: float) -> None:
    scaled = (np.float64(raw) - observed.centre) * observed.inverse
    observation[np.uint64(observed.at)] = min(max(scaled, -observed.bound), observed.bound)


@_compiled
def _show_vehicles(observation: np.ndarray, plugged: np.ndarray, observed: np.ndarray, soc: np.ndarray) -> None:
    for i in range(plugged.size):
        entry = observed[plugged[i].charger]
        if entry.at >= 0:
            _show(observation, entry, soc[plugged[i].vehicle])


@_compiled
def _copy_row(observation: np.ndarray, template: np.ndarray) -> None:
    for i in range(observation.size):
        observation[i] = template[i]


@_compiled
def _observe(site: Site, rows: Rows, state: State, out: Out, copies: np.ndarray) -> None:
    """Write the observation at the row that begins: its exogenous values, and states as the last step left them."""
    template = rows.template
    buildings, others = site.building.size, site.observed.size - site.charger.size
    for b in copies:
        copy, observation, soc, energy = state.copy[b], out.observation[b], state.previous_soc[b], out.energy[b]
        row = copy.start + copy.step
        if rows.hour[row].month != copy.month:
            copy.month = rows.hour[row].month
            copy.peak[:] = 0.0
            copy.reference_peak[:] = 0.0
        day = state.day[b]
        if rows.hour[row].day != day.day:
            day.day, day.peak, day.reference_peak = rows.hour[row].day, 0.0, 0.0
        _copy_row(observation, template[row])
        for i in range(others):
            observed = site.observed[i]
            n = observed.building
            if observed.kind > records.DAY_PEAK:
                _show(observation, observed, _beside_devices(site, state, b, observed))
                continue
            tank = state.tank[b, n, observed.use]
            raw: float
            if observed.kind == records.NET:
                raw = np.float64(energy[n, records.NET_KWH])
            elif observed.kind == records.BATTERY_SOC:
                raw = np.float64(soc[n])
            elif observed.kind == records.BATTERY_CONSUMPTION:
                raw = np.float64(energy[n, records.BATTERY_KWH])
            elif observed.kind == records.TANK_SOC:
                raw = np.float64(tank.previous_soc)
            elif observed.kind == records.TANK_CONSUMPTION:
                # Of the device, at the efficiency of the step before.
                cop = rows.meter[row - 1, n].cop[observed.use] if copy.step else 1.0
                raw = np.float64(tank.balance / np.float32(cop))
            elif observed.kind == records.THERMAL_DEMAND:
                raw = _f32(np.float64(tank.given) + abs(min(np.float64(tank.balance), 0.0)))
            elif observed.kind == records.THERMAL_CONSUMPTION:
                raw = np.float64(tank.consumption)
            elif observed.kind == records.DAY_PEAK:
                raw = day.peak
            else:
                raw = copy.peak[observed.use]
            _show(observation, observed, raw)
        plugged = rows.plugged[rows.hour[row].first_plugged : rows.hour[row + 1].first_plugged]
        _show_vehicles(observation, plugged, site.observed[others:], soc[buildings:])


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
    """Start an episode of the copies of the indices `copies`, shape (M,); their `start`, `hours` and generator are set before.

    `first_row` of each one's year, shape (M,); charges `soc` at the start, shape (M, N + V), and `tanks`, shape (N, 3).
    """
    buildings = site.building.size
    for i in range(copies.size):
        b = copies[i]
        copy = state.copy[b]
        row = copy.start
        copy.step = 0
        for k in range(site.battery.size):
            state.soc[b, k] = soc[i, k]
            state.degraded[b, k] = site.battery[k].capacity
        # The first observation has the states at the start, later ones those before standby losses.
        state.previous_soc[b, :] = state.soc[b, :]
        out.energy[b, :, :] = 0.0
        if out.session_missing.shape[0]:
            out.session_missing[b, :] = 0.0
            out.session_owed[b, :] = 0.0
        for n in range(buildings):
            for use in range(3):
                tank = state.tank[b, n, use]
                tank.given, tank.balance, tank.consumption = np.float32(0.0), np.float32(0.0), np.float32(0.0)
                if site.building[n].thermal:
                    tank.soc, tank.previous_soc = tanks[n, use], tanks[n, use]
                    tank.given = rows.meter[row, n].demand[use]
                    _first_thermal(tank, rows.meter[row, n].cop[use])
            if rows.meter[row, n].off_grid:
                _first_off_grid(site, state.tank[b, n], rows.meter[row, n], n, np.float64(rows.meter[row, n].load), 0.0)
        for k in range(site.appliance.size):
            _begin_cycles(site.appliance[k], site.cycle, state.run[b, k], row)
        for n in range(buildings):
            if site.building[n].connection:
                _whole_room(site.building[n], state.room[b, n], rows.meter[row, n])
        before = rows.hour[row - 1].net if row > first_row[i] else np.nan
        copy.net, copy.reference_net = before, before
        copy.month = -1
        state.day[b].day = -1
    _balance(site, rows, state, out, copies)
    _observe(site, rows, state, out, copies)


@_entry
def step(site: Site, rows: Rows, state: State, out: Out, actions: np.ndarray, copies: np.ndarray) -> None:
    """Step the copies of the indices `copies`, shape (M,), by one step; actions are clipped to [-1, 1], shape (B, A)."""
    _grant(site, rows, state, actions, copies)
    _act_stationary(site, rows, state, out, copies)
    _act_vehicles(site, rows, state, out, copies)
    if site.appliance.size:
        _act_appliances(site, state, out, copies)
    _balance(site, rows, state, out, copies)
    _reward(site, rows, state, out, copies)
    if rows.event.shape[0]:
        _park(site, rows, state, copies)
    _advance(site, rows, state, copies)
    _observe(site, rows, state, out, copies)
