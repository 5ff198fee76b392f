"""Data structures of the compiled kernel: records, and tuples of arrays.

Powers are in kW, and what they make of a step is computed where CityLearn computes it, so that it is rounded alike.

An array costs a microsecond each time a tuple of them is passed on, and a quarter at each call from Python; a record passes by
reference. So values that belong together are one array of records.

Letters in shapes: B copies, N buildings, C chargers, V vehicles, R rows of all years, P vehicles plugged in summed over
the rows, S sessions, O observations, E observations that depend on actions, A actions, Y years. Batteries are numbered
through: first the N stationary ones, then the V vehicles.
"""

from typing import Any, NamedTuple

import numpy as np

# Kinds of observations that depend on actions.
NET, BATTERY_SOC, BATTERY_CONSUMPTION, TANK_SOC, TANK_CONSUMPTION, THERMAL_DEMAND, THERMAL_CONSUMPTION = range(7)
MONTH_PEAK, VEHICLE_SOC, DAY_PEAK, APPLIANCE_STATE, IMPORT_ROOM, EXPORT_ROOM, VIOLATION = range(7, 14)
# What happens to the state of charge of a vehicle that is not plugged in.
DRIFT, KEEP, SET = range(3)
COOLING, HEATING, DHW = range(3)  # end uses of heat and cold
INDOOR = -1  # in place of an end use: the indoor temperature of the hour before, an input of a model of it
# Types of CityLearn's attributes: as a schema has them, or as NumPy's scalars where CityLearn sizes a device.
PYTHON, SINGLE, DOUBLE = range(3)
COOLS, HEATS = 1, 2  # bits of CityLearn's `hvac_mode`
POWER_CURVE, EFFICIENCY_CURVE = range(2)  # curves of a battery
CHARGING, DISCHARGING = range(2)  # sides of a charger

LANES = 64  # batteries that are charged side by side

PHASES = 6  # of the connection of a building, at most
CHARGING_LIMITS, SERVICE = 1, 2  # of a building's connection: CityLearn's charging constraints, or its electrical service
WHOLE, THIRD = 1, 3  # of a power: the part that is on a phase
# Observations of a deferrable appliance in CityLearn's order; those that depend on the hour are computed as they are shown.
FEATURES = (
    "pending", "running", "can_start", "deadline_missed", "earliest_start_time_step", "latest_start_time_step",
    "deadline_time_step", "hours_until_latest_start", "hours_until_deadline", "slack_steps", "slack_ratio", "urgency_ratio",
    "cycle_duration_steps", "cycle_energy_kwh", "remaining_energy_kwh", "current_step_energy_kwh", "priority", "must_run",
    "cycle_average_power_kw", "cycle_peak_power_kw", "cycle_load_factor_ratio", "cycle_peak_step_offset_ratio",
    "remaining_duration_steps", "remaining_average_power_kw", "current_step_power_kw",
)  # fmt: skip
CAN_START = FEATURES.index("can_start")
UNTIL_LATEST, UNTIL_DEADLINE, SLACK, SLACK_RATIO, URGENCY = range(7, 12)
PENDING, RUNNING, MISSED = range(3)  # states of a cycle that is observed


def record(*fields: tuple[str, Any] | tuple[str, Any, tuple[int, ...]]) -> np.dtype:
    """A record of fields, each with its type and shape; aligned, as numba compiles everything a second time for others."""
    return np.dtype(list(fields), align=True)


ACTION = record(("low", np.float64), ("span", np.float64))  # least value and range in CityLearn
BUILDING = record(
    ("step_hours", np.float64),  # length of a step
    ("battery_action", np.int64),  # index of the action of its battery, -1 for none
    ("thermal", np.int64),  # whether it has thermal demand or tanks
    ("outages", np.int64),  # whether it has power outages
    ("lookback", np.int64),  # steps of an episode after which thermal devices obey actions
    ("connection", np.int64),  # `CHARGING_LIMITS`, `SERVICE`, or 0 where it has no limits
    ("shows_violation", np.int64),  # whether what is asked for beyond them is an observation
    ("phases", np.int64),
    # Of import and export [kW], first in all, then of each phase; NaN for none.
    ("limit", np.float64, (1 + PHASES, 2)),
    ("on_phase", np.int64, (PHASES,)),  # `WHOLE`, `THIRD` or 0: the part of its load and PV that is on each phase
    ("battery_on_phase", np.int64, (PHASES,)),
)
# Device and tank of one end use of a building.
THERMAL = record(
    ("action", np.int64),  # index of the action of the tank, -1 for none
    ("device_action", np.int64),  # index of the action of the device, -1 for none
    ("device_sign", np.float64),  # 1 where the device runs at positive actions, -1 where at negative ones
    ("device_power", np.float64),  # nominal power of the device [kW]; in a step it can take as many kWh, however short that is
    # Hours at this power that its full action asks for: those of a step of a device that cools, one of a device that heats.
    ("device_hours", np.float64),
    ("power_type", np.int64),  # `PYTHON`, `SINGLE` or `DOUBLE`
    ("device_wide", np.int64),  # whether it is an electric heater: its limit is computed in float64
    ("capacity", np.float64),  # of the tank [kWh]
    ("capacity_type", np.int64),  # likewise
    ("root_efficiency", np.float64),  # root of the tank's efficiency
    ("kept", np.float64),  # part of the state of charge that standby leaves
    ("greatest_input", np.float64),  # [kWh in a step], NaN for none
    ("greatest_output", np.float64),
)
BATTERY = record(
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
    ("drift", np.float64),  # standard deviation of the state of charge in a step away, as a part of it
)
CHARGER = record(
    ("building", np.int64),
    ("action", np.int64),  # index of its action, -1 for none
    ("charge_max", np.float64),  # [kW]
    ("charge_min", np.float64),
    ("discharge_max", np.float64),
    ("discharge_min", np.float64),
    ("efficiency", np.float64),
    ("charge_points", np.int64),  # points of the curve of the efficiency, 0 where it is constant
    ("discharge_points", np.int64),
    ("on_phase", np.int64, (PHASES,)),  # `WHOLE`, `THIRD` or 0: the part of its power that is on each phase
)
APPLIANCE = record(
    ("building", np.int64),
    ("action", np.int64),  # index of its action, -1 for none
    ("threshold", np.float64),  # action above which a cycle starts
    ("first", np.int64),  # its first hour in `Site.cycle`, and the one after its last
    ("end", np.int64),
    ("offset", np.int64),  # CityLearn's number of the first row
    ("shown", np.float64, (len(FEATURES),)),  # observations where there is no cycle
)
# One step of a cycle of an appliance, with what holds for the whole cycle.
CYCLE = record(
    ("earliest", np.int64),  # CityLearn's numbers of rows
    ("latest", np.int64),
    ("deadline", np.int64),
    ("steps", np.int64),  # how many the cycle has
    ("energy", np.float32),  # of this step [kWh]
    ("shown", np.float64, (3, len(FEATURES))),  # observations while the cycle is `PENDING`, `RUNNING` in this step, `MISSED`
)
# An observation that depends on actions; its scaled value is `clip((raw - centre) * inverse, -bound, bound)`.
OBSERVED = record(
    ("kind", np.int64),
    ("building", np.int64),
    # end use; of a month's peak 0 for peak hours and 1 for the others; of room 0 for all phases, then each of them; of an
    # appliance, whose number `building` is then, the index in `FEATURES`
    ("use", np.int64),
    ("at", np.int64),  # position in the observation, -1 for none
    ("centre", np.float64),
    ("inverse", np.float64),
    ("bound", np.float64),
)
# Of one year, for the reward `improvement`; the terms in the order of `envs.objective.reward.TERMS`.
REWARD = record(
    ("mean", np.float64, (7,)),  # means that normalise the terms
    ("weight", np.float64, (7,)),
    ("demand_price", np.float64, (2,)),  # peak price and off-peak excess price of `DemandCharge`, zeros for none
    ("met_tolerance", np.float64),  # state of charge by which a departure may miss what it requires
    ("longest", np.int64),  # steps of the longest session
)
# Of one row (hour) of a year.
HOUR = record(
    ("year", np.int64),  # index of the year
    ("month", np.int64),
    ("day", np.int64),  # number of the day within the year
    ("month_from", np.int64),  # first row of the month, and the one after its last
    ("month_to", np.int64),
    ("peak_hour", np.int64),  # whether the hour is a peak hour of the tariff
    ("first_plugged", np.int64),  # index of the row's first plugged-in vehicle
    ("at_once", np.int64),  # vehicles that may be charged side by side
    ("first_departure", np.int64),  # index of the first session that ends in this row or later
    ("emission", np.float64),  # of the uncontrolled run [kg], its cost of energy, PV use and net import [kWh]
    ("energy_cost", np.float64),
    ("solar_use", np.float64),
    ("net", np.float64),
)
# Of one building in one row.
METER = record(
    ("load", np.float32),  # [kWh]
    ("solar", np.float32),  # generation, negative [kWh]
    ("price", np.float32),  # [currency/kWh]
    ("carbon", np.float32),  # [kg/kWh]
    ("demand", np.float32, (3,)),  # thermal demands without control [kWh]
    ("off_grid", np.int8),  # whether there is a power outage
    ("mode", np.int8),  # `COOLS`, `HEATS`, both, or neither, of devices that obey actions
    ("cop", np.float64, (3,)),  # efficiencies of the thermal devices
)
# A vehicle that is plugged in at one row.
PLUGGED = record(
    ("charger", np.uint16),  # unsigned, as numba wraps signed indices around
    ("vehicle", np.uint16),
    ("before", np.float32),  # state of charge in the row before, where the vehicle was away and it is given, else NaN
    ("arrival", np.float32),  # state of charge on arrival in this row, else NaN
    ("first", np.float32),  # the same if CityLearn begins an episode with this row
)
EVENT = record(
    ("kind", np.int8),  # `DRIFT`, `KEEP` or `SET`
    ("soc", np.float32),  # state of charge of `SET`
)
SESSION = record(
    ("start", np.int64),  # first row
    ("building", np.int64),
    ("vehicle", np.int64),
    ("gives", np.int64),  # whether its charger can take energy from the vehicle
    ("offset", np.int64),  # index of its first hour in `Rows.held_soc`
    ("arrival", np.float64),  # state of charge on arrival
    ("required", np.float64),  # required state of charge at departure
    ("capacity", np.float64),  # [kWh]
    ("efficiency", np.float64),  # best one of charger and battery together
    ("reference_missing", np.float64),  # energy missing at the end in the uncontrolled run [kWh]
)
# Position of a copy, and its memory of the site.
COPY = record(
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
)
# A copy's memory of its day.
DAY = record(
    ("day", np.int64),  # number of the day within the year, -1 before an episode
    ("peak", np.float64),  # the day's highest import so far [kW]
    ("reference_peak", np.float64),  # that of the uncontrolled run
)
# A copy's memory of the device and the tank of one end use.
TANK = record(
    ("soc", np.float32),
    ("previous_soc", np.float32),  # at the step before
    ("given", np.float32),  # by the device [kWh]
    ("consumption", np.float32),  # of the device [kWh]
    ("balance", np.float32),  # of the tank [kWh]
    ("demand", np.float32),  # that device and tank are to deliver [kWh]
)
# A copy's memory of an appliance: indices in `Site.cycle`, -1 for none.
RUN = record(
    ("next", np.int64),  # first hour of the next cycle that may start
    ("current", np.int64),  # of the cycle that runs
    ("missed", np.int64),  # of the first cycle that was missed
    ("started", np.int64),  # CityLearn's number of the row in which the current one started
)
# What is left of the limits of a building's connection.
ROOM = record(("left", np.float64, (1 + PHASES, 2)), ("violation", np.float64))
# Batteries side by side, and their intermediate results. All that a loop works on is in one record, so LLVM sees that
# nothing overlaps and turns the loop into vector instructions. All energies in kWh.
LANE = record(
    *(
        (name, kind, (LANES,))
        for name, kind in (
            # The command of a charger.
            ("wish", np.float64),  # action in CityLearn's range
            ("power_limit", np.float64),  # of the side that the wish is on [kW]
            ("least", np.float64),
            ("efficiency", np.float64),
            ("curved", np.int64),  # whether the efficiency is from a curve, then not 0
            ("commanded", np.float64),  # power [kW]
            # The battery.
            ("soc", np.float32),
            ("left", np.float64),  # capacity
            ("capacity", np.float64),  # see `BATTERY`
            ("minimum", np.float64),
            ("discharge_limit", np.float64),
            ("wear", np.float64),
            ("greatest", np.float64),  # of a step
            ("root", np.float64),  # of the efficiency
            # The charge.
            ("request", np.float64),
            ("before", np.float64),  # energy stored before and after
            ("after", np.float64),
            ("limited", np.float64),  # the request, cut to power and room
            ("change", np.float64),
            ("change_root", np.float64),  # root of the efficiency, rounded as the change is
            ("balance", np.float32),  # what the battery took at its terminals
            ("taken", np.float32),  # what the charger took
        )
    )
)


class Site(NamedTuple):
    """Arrays that hold for all rows."""

    action: Any  # `ACTION`, shape (A,)
    building: Any  # `BUILDING`, shape (N,)
    thermal: Any  # `THERMAL`, shape (N, 3): cooling, heating, hot water
    battery: Any  # `BATTERY`, shape (N + V,)
    # greatest power [part of the nominal] over the state of charge, and efficiency over power [part of the nominal], shape (N
    # + V, 2, 2, points); the last point is repeated where a curve has fewer
    battery_curve: Any
    charger: Any  # `CHARGER`, shape (C,)
    charger_curve: Any  # efficiency over power, charging and discharging, shape (C, 2, 2, points)
    # `OBSERVED`, first those of buildings, then one for each charger: the state of charge of its vehicle, shape (E + C,)
    observed: Any
    reward: Any  # `REWARD`, shape (Y,)
    appliance: Any  # `APPLIANCE`, shape (any,)
    cycle: Any  # `CYCLE`, steps of the cycles of each appliance one after another, shape (any,)


class Rows(NamedTuple):
    """Arrays that no action can change, by row; the years one after another."""

    hour: Any  # `HOUR`, shape (R + 1,); of the last only the firsts count
    meter: Any  # `METER`, shape (R, N)
    template: Any  # observation with what depends on actions left out, shape (R, O), float32
    plugged: Any  # `PLUGGED` in order of the rows, for each in order of the chargers, shape (P,)
    session: Any  # `SESSION` in order of their ends, shape (S,)
    held_soc: Any  # of the uncontrolled run, see `envs.objective.reference.Reference`; empty where that is to be found
    event: Any  # `EVENT` of each vehicle, shape (R, V); without rows where parked vehicles are not stepped


class State(NamedTuple):
    """Memory of the copies from hour to hour."""

    copy: Any  # `COPY`, shape (B,)
    key: Any  # of each copy's Mersenne Twister, shape (B, 624), uint32
    soc: Any  # of the batteries at the step and at the one before, shape (B, N + V), float32
    previous_soc: Any
    degraded: Any  # capacity that is left [kWh], shape (B, N + V)
    tank: Any  # `TANK`, shape (B, N, 3)
    lane: Any  # `LANE`, shape (1,): room for intermediate results
    day: Any  # `DAY`, shape (B,)
    granted: Any  # actions of the step in CityLearn's ranges, as limits of connections leave them, shape (B, A)
    run: Any  # `RUN`, shape (B, appliances)
    room: Any  # `ROOM`, shape (B, N)


class Out(NamedTuple):
    """Results of a step."""

    observation: Any  # shape (B, O), float32
    terms: Any  # weighted terms of the reward `improvement`, shape (B, 7)
    # net consumption, what the battery took, what chargers, load and appliances took [kWh], shape (B, N, 5), float32
    energy: Any
    # energy missing at the end of each session [kWh], from the first one on that ends after the copy's start, shape (B, most
    # sessions of a run); (0, S) where it is not recorded
    session_missing: Any
    session_owed: Any  # energy taken from its vehicle for good [kWh], likewise


class Model(NamedTuple):
    """A building's model of its indoor temperature, see `envs.batch_backend.dynamics`; arrays are float32 unless stated."""

    bounds: Any  # of each input, least value and range, by which it is normalised, shape (I, 2)
    endogenous: Any  # inputs that depend on actions: their index and end use or `INDOOR`, shape (any, 2), int64
    inputs: Any  # weights of the inputs, shape (I, 4 H)
    between: Any  # weights of the layer below, from the second layer on, shape (L - 1, H, 4 H)
    recurrent: Any  # weights of the state before, shape (L, H, 4 H)
    bias: Any  # shape (L, 4 H)
    output: Any  # weights of the temperature, and its bias at the end, shape (H + 1,)
    lookback: Any  # T, shape (), int64


# Columns of `Out.energy`.
NET_KWH, BATTERY_KWH, CHARGING_KWH, LOAD_KWH, APPLIANCE_KWH = range(5)  # what the load got is of power outages alone
