"""What the compiled kernel works on: records, and tuples of arrays.

Records are passed to compiled functions by reference; a tuple of arrays costs a microsecond each time it is passed on,
so functions that are called for each device take records and arrays.

Letters in shapes: B copies, N buildings, C chargers, V vehicles, R rows of all years, P vehicles plugged in summed over
the rows, S sessions, O observations, E observations that depend on actions, A actions, Y years. Batteries are numbered
through: first the N stationary ones, then the V vehicles.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

# Kinds of observations that depend on actions.
NET, BATTERY_SOC, BATTERY_CONSUMPTION, TANK_SOC, THERMAL_DEMAND, THERMAL_CONSUMPTION, MONTH_PEAK = range(7)
# What becomes of the state of charge of a vehicle that no charger holds.
DRIFT, KEEP, SET = range(3)
COOLING, HEATING, DHW = range(3)  # end uses of heat and cold


BATTERY = np.dtype(
    [
        ("capacity", np.float64),  # [kWh]
        ("nominal_power", np.float64),  # [kW]
        ("minimum_soc", np.float64),
        ("minimum_energy", np.float64),  # [kWh]
        ("discharge_limit", np.float64),  # energy at which discharge stops [kWh]
        ("kept", np.float64),  # part of the state of charge that standby leaves
        ("wear", np.float64),  # capacity lost per throughput, times the capacity [kWh]
        ("power_points", np.int64),  # points of the curve of the greatest power, 0 where it is flat
        ("efficiency_points", np.int64),  # points of the curve of the efficiency, 0 where it is flat
        ("flat_power", np.float64),  # greatest power of a flat curve [kW]
        ("flat_root", np.float64),  # root of the efficiency of a flat curve
    ],
    align=True,
)
CHARGER = np.dtype(
    [
        ("building", np.int64),
        ("action", np.int64),  # index of its action, -1 for none
        ("soc_at", np.int64),  # position of its vehicle's state of charge in the observation, -1 for none
        ("charge_max", np.float64),  # [kW]
        ("charge_min", np.float64),
        ("discharge_max", np.float64),
        ("discharge_min", np.float64),
        ("efficiency", np.float64),
        ("charge_points", np.int64),  # points of the curve of the efficiency, 0 where it is constant
        ("discharge_points", np.int64),
    ],
    align=True,
)
# Of one row (hour) of a year.
HOUR = np.dtype(
    [
        ("year", np.int64),  # index of the year
        ("month", np.int64),
        ("month_from", np.int64),  # first row of the month, and the one after its last
        ("month_to", np.int64),
        ("peak_hour", np.int64),  # whether the hour is a peak hour of the tariff
        ("first_plugged", np.int64),  # index of the row's first plugged-in vehicle
        ("first_departure", np.int64),  # index of the first session that ends in this row or later
        ("emission", np.float64),  # of the uncontrolled run [kg], its cost of energy, PV use and net import [kWh]
        ("energy_cost", np.float64),
        ("solar_use", np.float64),
        ("net", np.float64),
    ],
    align=True,
)
# Of one building in one row.
METER = np.dtype(
    [
        ("load", np.float32),  # [kWh]
        ("solar", np.float32),  # generation, negative [kWh]
        ("price", np.float32),  # [currency/kWh]
        ("carbon", np.float32),  # [kg/kWh]
        ("demand", np.float32, (3,)),  # thermal demands [kWh]
        ("cop", np.float64, (3,)),  # efficiencies of the thermal devices
    ],
    align=True,
)
# A vehicle that a charger holds in one row.
PLUGGED = np.dtype(
    [
        ("charger", np.int64),
        ("vehicle", np.int64),
        ("before", np.float32),  # state of charge in the row before, where the vehicle was away and it is given, else NaN
        ("arrival", np.float32),  # state of charge on arrival in this row, else NaN
        ("first", np.float32),  # the same if an episode begins with this row
    ],
    align=True,
)
SESSION = np.dtype(
    [
        ("start", np.int64),  # first row
        ("vehicle", np.int64),
        ("required", np.float64),  # state of charge asked for
        ("capacity", np.float64),  # [kWh]
        ("reference_missing", np.float64),  # energy missing at the end in the uncontrolled run [kWh]
    ],
    align=True,
)
# Where a copy is and what it remembers of the site.
COPY = np.dtype(
    [
        ("start", np.int64),  # first row of its episode
        ("hours", np.int64),  # length of its episode
        ("step", np.int64),  # steps taken
        ("month", np.int64),
        ("peak", np.float64, (2,)),  # the month's highest import in peak hours and outside [kW]
        ("reference_peak", np.float64, (2,)),  # those of the uncontrolled run
        ("net", np.float64),  # net import of the last step [kWh], NaN before a year's first
        ("reference_net", np.float64),
        ("position", np.int64),  # of its Mersenne Twister
        ("has_spare", np.int64),
        ("spare", np.float64),
    ],
    align=True,
)


class Site(NamedTuple):
    """What holds for all rows.

    Attributes:
        action_low, action_span: least value of each action and its range, shape (A,).
        battery_action: index of the action of each building's battery, -1 for none, shape (N,).
        tank_action: index of the action of each tank, -1 for none, shape (N, 3): cooling, heating, hot water.
        battery: `BATTERY`, shape (N + V,).
        power_curve: greatest power [part of the nominal] over the state of charge, shape (N + V, 2, points); the last
            point is repeated where a curve has fewer.
        efficiency_curve: efficiency over power [part of the nominal], likewise.
        charger: `CHARGER`, shape (C,).
        charger_curve: efficiency over power, charging and discharging, shape (C, 2, 2, points).
        thermal: whether a building has thermal demand or tanks, shape (N,).
        device_power: nominal power of the thermal devices [kW], shape (N, 3).
        device_wide: whether a device is an electric heater, whose limit is reckoned in float64, shape (N, 3).
        tank_capacity, tank_root_efficiency, tank_kept, tank_input, tank_output: of the tanks, shape (N, 3): [kWh], root of
            the efficiency, what standby leaves, greatest input and output [kW] (NaN for none).
        endogenous: kind, building and end use of the observations that depend on actions, shape (E, 3).
        endogenous_at: their positions in the observation, shape (E,).
        centre, inverse, bound: of each endogenous observation, then of each charger's: scaled value is
            `clip((raw - centre) * inverse, -bound, bound)`, shape (E + C,).
        scale: means that normalise the reward, shape (Y, 5) in the order of `envs.reward.WEIGHTS`.
        weights: of the reward's terms, shape (5,).
        demand_price: peak price and off-peak excess price of the demand charge, shape (2,); zeros for none.
        met_tolerance: state of charge by which a departure may miss its wish.
    """

    action_low: Any
    action_span: Any
    battery_action: Any
    tank_action: Any
    battery: Any
    power_curve: Any
    efficiency_curve: Any
    charger: Any
    charger_curve: Any
    thermal: Any
    device_power: Any
    device_wide: Any
    tank_capacity: Any
    tank_root_efficiency: Any
    tank_kept: Any
    tank_input: Any
    tank_output: Any
    endogenous: Any
    endogenous_at: Any
    centre: Any
    inverse: Any
    bound: Any
    scale: Any
    weights: Any
    demand_price: Any
    met_tolerance: Any


class Rows(NamedTuple):
    """What no action can change, by row; the years one after another.

    Attributes:
        hour: `HOUR`, shape (R + 1,); of the last only the firsts count.
        meter: `METER`, shape (R, N).
        template: observation with what depends on actions left out, shape (R, O), float32.
        plugged: `PLUGGED` in order of the rows, for each in order of the chargers, shape (P,).
        session: `SESSION` in order of their ends, shape (S,).
        event: `DRIFT`, `KEEP` or `SET` of each vehicle, shape (R, V), int8; without rows where nobody asks for parked vehicles.
        event_soc: state of charge of `SET`, shape (R, V), float32.
    """

    hour: Any
    meter: Any
    template: Any
    plugged: Any
    session: Any
    event: Any
    event_soc: Any


class State(NamedTuple):
    """What the copies remember from hour to hour.

    Attributes:
        copy: `COPY`, shape (B,).
        key: of each copy's Mersenne Twister, shape (B, 624), uint32.
        soc, previous_soc: of the batteries at the step and at the one before, shape (B, N + V), float32.
        degraded: capacity that is left [kWh], shape (B, N + V).
        tank, previous_tank: state of charge of the tanks, shape (B, N, 3), float32.
        device: energy that the thermal devices gave, their consumption, balance of the tanks [kWh], shape (B, N, 3, 3),
            float32.
    """

    copy: Any
    key: Any
    soc: Any
    previous_soc: Any
    degraded: Any
    tank: Any
    previous_tank: Any
    device: Any


class Out(NamedTuple):
    """What a step gives.

    Attributes:
        observation: shape (B, O), float32.
        terms: weighted terms of the reward `improvement`, shape (B, 5).
        energy: net consumption, what the battery took, what the chargers took [kWh], shape (B, N, 3), float32.
        money: cost of energy [currency] and emission [kg] as CityLearn has them, shape (B, N, 2), float32.
        session_missing: energy missing at the end of each session [kWh], shape (B, S), or (0, S) where nobody asks.
    """

    observation: Any
    terms: Any
    energy: Any
    money: Any
    session_missing: Any


# Columns of `Out.energy` and `Out.money`.
NET_KWH, BATTERY_KWH, CHARGING_KWH = range(3)
COST, EMISSION = range(2)
