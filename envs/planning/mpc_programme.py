"""The linear programme of model predictive control: one structure for all hours, of which only the numbers change.

Its hours lie on a ring of `hours + 1` slots. The hour of a row has the slot `row % (hours + 1)`, from the time that it comes
into sight until it is past. The one slot that is free is that of the hour before the present one: its charge and its net import
are fixed at what they were. So from hour to hour almost all of the programme stays as it was, and the solver goes on from the
last solution.

    minimise   what the reward loses over the next hours, less the worth of the energy that is stored at their end
    subject to net = base load + charging + battery + (filled - tapped + delivered) / efficiency - PV = import - export
                                                                                    for each building and hour
               charge after = before + root_in * in - out / root_out               within its limits, in + out within the power
               served after = before + charging + missing                          between what must and what can be served
               held after = before + root * filled - tapped / root                  within the tank, and what its device leaves
               deviation after = kept * before + now * surplus + later * surplus before     of the rooms' temperatures
               unmet >= deviation - room to the comfort band's end                  on both sides
               change of the site's net = up - down,  month's peaks >= net,  day's peaks >= net
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from common.errors import InconsistentError
from common.units import DAY
from envs.planning.mpc_site import MpcSite

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class LinearProgramme:
    """Minimises `cost`, shape (variables,), times the variables, within the bounds of these and of the rows."""

    def __init__(self) -> None:
        self.cost = np.zeros(0)
        self._bounds, self._row_bounds = list[np.ndarray](), list[np.ndarray]()
        self._terms: list[tuple[np.ndarray, ...]] = []  # rows, variables and factors
        self._count = 0  # of rows

    def variables(self, *shape: int, low: Any = 0.0, high: Any = np.inf) -> np.ndarray:
        """Add variables within bounds and return their indices, of the given shape."""
        first, count = len(self.cost), int(np.prod(shape))
        self._bounds.append(np.stack([np.broadcast_to(end, shape).ravel().astype(float) for end in (low, high)], axis=1))
        self.cost = np.append(self.cost, np.zeros(count))
        return np.arange(first, first + count).reshape(shape)

    def rows(self, equal: bool, right: np.ndarray, *terms: tuple[Any, np.ndarray, Any]) -> np.ndarray:
        """Add rows `sum of factor * variable = right`, or `<= right`, and return their numbers, of the shape of `right`.

        Each term is an index into these rows, such as `...` for all, the variable there and its factor; these are broadcast.
        """
        numbers = np.arange(self._count, self._count + right.size).reshape(right.shape)
        for index, variable, factor in terms:
            each = np.broadcast_arrays(numbers[index], variable, np.asarray(factor, dtype=float))
            self._terms.append(tuple(part.ravel() for part in each))
        least = right if equal else np.full(right.shape, -np.inf)
        self._row_bounds.append(np.stack([least.ravel(), right.ravel()], axis=1))
        self._count += right.size
        return numbers

    @property
    def bounds(self) -> np.ndarray:
        """Least and greatest value of each variable, shape (variables, 2)."""
        return np.concatenate(self._bounds)

    @property
    def row_bounds(self) -> np.ndarray:
        """Least and greatest value of each row, shape (rows, 2)."""
        return np.concatenate(self._row_bounds)

    @property
    def matrix(self) -> csr_array:
        """Factors of the variables in the rows, shape (rows, variables)."""
        from scipy.sparse import csr_array

        row, column, value = (np.concatenate(parts) for parts in zip(*self._terms, strict=True))
        return csr_array((value, (row, column)), shape=(self._count, len(self.cost)))

    def arguments(self) -> dict[str, Any]:
        """Arguments of `scipy.optimize.linprog`, but for the method."""
        matrix, (low, high) = self.matrix, self.row_bounds.T
        equal = low == high
        return {
            "c": self.cost, "bounds": self.bounds,
            "A_eq": matrix[equal], "b_eq": high[equal], "A_ub": matrix[~equal], "b_ub": high[~equal],
        }  # fmt: skip


MONTHS = 2  # a horizon reaches into the next month at most
# Rows from which on an interior point method solves each hour anew. With 100 homes it takes 2 s. The simplex method goes on
# from the hour before, in 0.5 s as a rule, but takes up to 21 s, and 50 s for the first.
LARGE = 15_000


class MpcError(InconsistentError):
    """The programme of an hour has no optimum, though every hour has one: a fault of this package."""


@dataclass(frozen=True)
class RoomHours:
    """The next H hours of R rooms and the D devices that act on them, see `envs.planning.mpc_site.Rooms`.

    Deviations are from temperatures of the uncontrolled site, where devices deliver what the building's controller asks for; a
    surplus is what is delivered beyond that.
    """

    asked_kwh: np.ndarray  # for by that controller, shape (D, H)
    least_kwh: np.ndarray  # that devices deliver, shape (D, H)
    most_kwh: np.ndarray  # likewise
    efficiency: np.ndarray  # heat or cold that they make of a kilowatt-hour, shape (D, H)
    too_warm_c: np.ndarray  # deviation from which it is too warm, shape (R, H)
    too_cold_c: np.ndarray  # deviation below zero from which it is too cold, its size, shape (R, H)
    people: np.ndarray  # chance that somebody is there, shape (R, H)
    deviation_c: np.ndarray  # in the hour before, shape (R,)
    surplus_kwh: np.ndarray  # likewise, shape (D,)

    @classmethod
    def none(cls, hours: int) -> RoomHours:
        """Hours of a site without rooms."""
        wide, short = np.zeros((0, hours)), np.zeros(0)
        return cls(wide, wide, wide, wide, wide, wide, wide, short, short)


@dataclass(frozen=True)
class HourPlan:
    """What the programme of an hour is made of. H hours, the present one first; N buildings, M with chargers; T tanks."""

    row: int  # of the present hour
    base_kwh: np.ndarray  # net import without batteries and vehicles that are plugged in, shape (N, H)
    import_worth: np.ndarray  # what a kilowatt-hour of import loses of the reward, shape (N, H)
    certainty: np.ndarray  # weight of each hour's energies, shape (H,)
    stored_worth: np.ndarray  # what a stored kilowatt-hour is worth at the end, shape (N,)
    stored_kwh: np.ndarray  # charge of the batteries now, shape (N,)
    previous_net_kwh: float | None  # of the site; None where there is no hour before
    charge_kw: np.ndarray  # greatest power of the vehicles that are plugged in, shape (M, H)
    must_kwh: np.ndarray  # least energy that they have been given after each hour, shape (M, H)
    can_kwh: np.ndarray  # most of it, shape (M, H)
    served_worth: np.ndarray  # what a kilowatt-hour is worth that vehicles which stay longer have at the end, shape (M,)
    month: np.ndarray  # 0 for hours of the present month, 1 for those of the next, shape (H,)
    outside: np.ndarray  # whether an hour is outside the tariff's peak hours, shape (H,)
    peaks_kw: np.ndarray  # highest imports of both months so far, in peak hours and outside, shape (2, 2)
    peak_worth: np.ndarray  # what a kilowatt of them loses: of the peak hours' and of the excess outside, shape (2, 2)
    day: np.ndarray  # days from the present one, shape (H,)
    day_peak_kw: float  # highest import of the present day so far
    held_kwh: np.ndarray  # heat or cold in the tanks now, shape (T,)
    held_worth: np.ndarray  # what a kilowatt-hour of it is worth at the end, shape (T,)
    held_most_kwh: np.ndarray  # most of it that can be held at the end, shape (T,)
    fill_kwh: np.ndarray  # most that tanks can take, shape (T, H)
    tap_kwh: np.ndarray  # most that they can give, shape (T, H)
    efficiency: np.ndarray  # heat that their devices make of a kilowatt-hour, shape (T, H)
    rooms: RoomHours


@dataclass(frozen=True)
class Plan:
    """Solution of an hour's programme."""

    battery_kwh: np.ndarray  # what each battery takes, negative where it gives, shape (N, H)
    charging_kwh: np.ndarray  # what the vehicles take, shape (M, H)
    stored_kwh: np.ndarray  # charge of the batteries after each hour, shape (N, H)
    net_kwh: np.ndarray  # net import of the site, shape (H,)
    tank_kwh: np.ndarray  # heat or cold that each tank takes, negative where it gives, shape (T, H)
    device_use: np.ndarray  # part of its power that each device needs to deliver what is planned, shape (D, H)
    deviation_c: np.ndarray  # of the rooms' temperatures from those without control, shape (R, H)
    loss: float  # least value of what is minimised


class RecedingProgramme:
    """The programme of a site, solved again and again: HiGHS goes on from the solution of the call before."""

    def __init__(self, site: MpcSite, hours: int) -> None:
        self._site, self._hours = site, hours
        self._solver = self._opened(self._build())

    def _build(self) -> LinearProgramme:
        site, programme, slots = self._site, LinearProgramme(), self._hours + 1
        buildings, charged = site.buildings, len(site.with_chargers)
        power = site.power[:, np.newaxis]
        self._drawn, self._fed = programme.variables(buildings, slots), programme.variables(buildings, slots)
        self._taken, self._given = (programme.variables(buildings, slots, high=power) for _ in range(2))
        self._stored = programme.variables(buildings, slots, low=site.least[:, np.newaxis], high=site.most[:, np.newaxis])
        self._charging, self._missing, self._served = (programme.variables(charged, slots) for _ in range(3))
        tanks = site.tanks
        self._filled, self._tapped = (programme.variables(len(tanks), slots) for _ in range(2))
        self._held = programme.variables(len(tanks), slots, high=tanks.capacity[:, np.newaxis])
        rooms = site.rooms
        self._delivered, self._unmet = programme.variables(len(rooms.room), slots), programme.variables(len(rooms), slots)
        self._deviation = programme.variables(len(rooms), slots, low=-np.inf)
        self._net = programme.variables(slots, low=-np.inf)
        self._up, self._down = programme.variables(slots), programme.variables(slots)
        months = MONTHS if site.tariff else 0
        self._peak, self._above = programme.variables(months, 2), programme.variables(months)
        # Days are planned where a peak of theirs is worth something.
        days = -(-self._hours // DAY) + 1 if site.worth["peak"] else 0
        self._day_peak = programme.variables(days)
        before = np.roll(np.arange(slots), 1)
        self._balance = programme.rows(
            True, np.zeros((buildings, slots)),
            (..., self._drawn, 1.0), (..., self._fed, -1.0), (..., self._taken, -1.0), (..., self._given, 1.0),
            (site.with_chargers, self._charging, -1.0),
            # What a kilowatt-hour of heat takes changes from hour to hour, see `_efficiencies`.
            (tanks.building, self._filled, -1.0), (tanks.building, self._tapped, 1.0),
            (rooms.device_building, self._delivered, -1.0),
        )  # fmt: skip
        kept = site.kept[:, np.newaxis]
        # Standby takes nothing from an empty battery.
        idle = np.repeat((1.0 - site.kept) * site.least, slots).reshape(buildings, slots)
        self._storage = programme.rows(
            True, idle,
            (..., self._stored, 1.0), (..., self._stored[:, before], -kept),
            (..., self._taken, -site.root_in[:, np.newaxis]), (..., self._given, 1.0 / site.root_out[:, np.newaxis]),
        )  # fmt: skip
        self._service = programme.rows(
            True, np.zeros((charged, slots)),
            (..., self._served, 1.0), (..., self._served[:, before], -1.0), (..., self._charging, -1.0),
            (..., self._missing, -1.0),
        )  # fmt: skip
        self._tank = programme.rows(
            True, np.zeros(self._held.shape),
            (..., self._held, 1.0), (..., self._held[:, before], -tanks.kept[:, np.newaxis]),
            (..., self._filled, -tanks.root[:, np.newaxis]), (..., self._tapped, 1.0 / tanks.root[:, np.newaxis]),
        )  # fmt: skip
        now, later = rooms.now[:, np.newaxis], rooms.later[:, np.newaxis]
        self._indoor = programme.rows(
            True, np.zeros(self._deviation.shape),
            (..., self._deviation, 1.0), (..., self._deviation[:, before], -rooms.kept[:, np.newaxis]),
            (rooms.room, self._delivered, -now), (rooms.room, self._delivered[:, before], -later),
        )  # fmt: skip
        self._sum = programme.rows(
            True, np.zeros(slots), (..., self._net, 1.0), (..., self._drawn, -1.0), (..., self._fed, 1.0)
        )
        self._ramp = programme.rows(
            True, np.zeros(slots),
            (..., self._net, 1.0), (..., self._net[before], -1.0), (..., self._up, -1.0), (..., self._down, 1.0),
        )  # fmt: skip
        # The rows from here on are inequalities.
        power = np.repeat(power, slots, axis=1)
        self._limits = [programme.rows(False, power, (..., self._taken, 1.0), (..., self._given, 1.0))]
        for n, part, slope in site.taper[site.taper[:, 2] != 0.0]:
            n, nominal = int(n), site.nominal_power[int(n)]
            after_charge = (..., self._stored[n, before], -nominal * slope / site.capacity[n])
            own_rows = (..., self._taken[n], 1.0), (..., self._given[n], 1.0), after_charge
            self._limits.append(programme.rows(False, np.full(slots, nominal * part), *own_rows))
        # Tanks of devices that act: these fill them with what they need not deliver, and tanks give no more than that.
        tank, self._filling = np.nonzero(rooms.fill(tanks))
        self._fills_kwh = tanks.device_kw[tank, np.newaxis]
        delivered = self._delivered[self._filling]
        self._fill, self._tap = (
            programme.rows(False, np.zeros(delivered.shape), (..., variable[tank], 1.0), (..., delivered, side))
            for variable, side in ((self._filled, 1.0), (self._tapped, -1.0))
        )
        self._warm, self._cold = (
            programme.rows(False, np.zeros(self._deviation.shape), (..., self._deviation, side), (..., self._unmet, -1.0))
            for side in (1.0, -1.0)
        )
        self._peaks, self._day_peaks = (
            programme.rows(False, np.zeros((*peak.shape, slots)), (..., self._net, 1.0), (..., peak[..., np.newaxis], -1.0))
            for peak in (self._peak, self._day_peak)
        )
        excess = (..., self._peak[:, 1], 1.0), (..., self._peak[:, 0], -1.0), (..., self._above, -1.0)
        programme.rows(False, np.zeros(months), *excess)
        return programme

    def solve(self, hour: HourPlan) -> Plan:
        """Plan the next hours; a `MpcError` if HiGHS finds no optimum."""
        solution, loss = self._optimum(hour)
        slots = (hour.row + np.arange(self._hours)) % (self._hours + 1)
        battery = solution[self._taken[:, slots]] - solution[self._given[:, slots]]
        most_kwh = self._site.rooms.most_kwh[:, np.newaxis] * hour.rooms.efficiency
        return Plan(
            battery_kwh=battery,
            charging_kwh=solution[self._charging[:, slots]],
            stored_kwh=solution[self._stored[:, slots]],
            net_kwh=solution[self._net[slots]],
            tank_kwh=solution[self._filled[:, slots]] - solution[self._tapped[:, slots]],
            # A device of no power stands in where a building lacks one that its action would run.
            device_use=solution[self._delivered[:, slots]] / np.where(most_kwh > 0.0, most_kwh, 1.0),
            deviation_c=solution[self._deviation[:, slots]],
            loss=loss,
        )

    def _efficiencies(self, hour: HourPlan) -> Iterator[tuple[int, int, float]]:
        """Row, variable and factor of what tanks and devices take of the electricity of their buildings in an hour."""
        if not len(self._site.tanks) and not len(self._site.rooms):
            return
        now = (hour.row + np.arange(self._hours)) % (self._hours + 1)
        tanks, devices, taken = self._site.tanks.building, self._site.rooms.device_building, 1.0 / hour.efficiency
        for building, variable, factor in (
            (tanks, self._filled, -taken),
            (tanks, self._tapped, taken),
            (devices, self._delivered, -1.0 / hour.rooms.efficiency),
        ):
            cells = self._balance[building][:, now], variable[:, now], factor
            yield from zip(*(cell.ravel().tolist() for cell in cells), strict=True)

    def _numbers(self, hour: HourPlan) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Costs and bounds of the variables, shape (variables,), and bounds of the rows, shape (rows,)."""
        site, slots = self._site, self._hours + 1
        now = (hour.row + np.arange(self._hours)) % slots
        past, last = (hour.row - 1) % slots, now[-1]
        (low, high), (row_low, row_high) = self._bounds.T.copy(), self._row_bounds.T.copy()
        cost = np.zeros(len(low))
        worth = site.worth
        cost[self._drawn[:, now]] = hour.import_worth
        cost[self._fed[:, now]] = worth["solar"] * hour.certainty
        cost[self._up[now]] = cost[self._down[now]] = worth["grid"]
        cost[self._missing[:, now]] = worth["ev"]
        cost[self._stored[:, last]] = -hour.stored_worth
        cost[self._served[:, last]] = -hour.served_worth
        row_low[self._balance[:, now]] = row_high[self._balance[:, now]] = hour.base_kwh
        high[self._charging[:, now]] = hour.charge_kw
        low[self._served[:, now]], high[self._served[:, now]] = hour.must_kwh, hour.can_kwh
        cost[self._held[:, last]], high[self._held[:, last]] = -hour.held_worth, hour.held_most_kwh
        high[self._filled[:, now]], high[self._tapped[:, now]] = hour.fill_kwh, hour.tap_kwh
        self._set_rooms(hour.rooms, now, past, cost, low, high, row_low, row_high)
        # The hour before: nothing of it can be changed.
        nothing = (
            self._drawn, self._fed, self._taken, self._given, self._charging, self._missing, self._served,
            self._filled, self._tapped,
        )  # fmt: skip
        for variable in nothing:
            high[variable[:, past]] = 0.0
        high[self._up[past]] = high[self._down[past]] = 0.0
        stored = site.least + (hour.stored_kwh - site.least) / site.kept
        low[self._stored[:, past]] = high[self._stored[:, past]] = stored
        low[self._held[:, past]] = high[self._held[:, past]] = np.divide(
            hour.held_kwh, site.tanks.kept, out=np.zeros(len(site.tanks)), where=site.tanks.kept > 0.0
        )
        if hour.previous_net_kwh is not None:
            low[self._net[past]] = high[self._net[past]] = hour.previous_net_kwh
        free = [
            self._storage[:, past], self._service[:, past], self._tank[:, past], self._indoor[:, past], self._sum[[past]],
            self._ramp[[past]], self._balance[site.rooms.device_building, past],
        ]  # fmt: skip
        for rows in free:
            row_low[rows], row_high[rows] = -np.inf, np.inf
        for rows in (*self._limits, self._fill, self._tap, self._warm, self._cold):
            row_high[rows.reshape(-1, slots)[:, past]] = np.inf
        if len(self._peak):
            self._set_peaks(hour, now, cost, low, row_high)
        if len(self._day_peak):
            low[self._day_peak[0]] = hour.day_peak_kw
            cost[self._day_peak] = worth["peak"]
            row_high[self._day_peaks] = np.inf
            row_high[self._day_peaks[hour.day, now]] = 0.0
        return cost, low, high, row_low, row_high

    def _set_rooms(
        self, hours: RoomHours, now: np.ndarray, past: int, cost: np.ndarray, low: np.ndarray, high: np.ndarray,
        row_low: np.ndarray, row_high: np.ndarray,
    ) -> None:  # fmt: skip
        rooms = self._site.rooms
        if not len(rooms):
            return  # an hour's programme of a site without them takes a tenth less so
        low[self._delivered[:, now]], high[self._delivered[:, now]] = hours.least_kwh, hours.most_kwh
        low[self._delivered[:, past]] = high[self._delivered[:, past]] = hours.surplus_kwh
        low[self._deviation[:, past]] = high[self._deviation[:, past]] = hours.deviation_c
        cost[self._unmet[:, now]] = self._site.worth["comfort"] * hours.people
        high[self._unmet[:, past]] = 0.0
        # The deviation follows from what is delivered beyond what was asked for. The hour before has only that in its variable.
        before = np.pad(hours.asked_kwh, ((0, 0), (1, 0)))[:, :-1]
        usual = np.zeros((len(rooms), self._hours))
        np.add.at(usual, rooms.room, rooms.now[:, np.newaxis] * hours.asked_kwh + rooms.later[:, np.newaxis] * before)
        row_low[self._indoor[:, now]] = row_high[self._indoor[:, now]] = -usual
        row_high[self._warm[:, now]] = hours.too_warm_c
        row_high[self._cold[:, now]] = hours.too_cold_c
        row_high[self._fill[:, now]] = self._fills_kwh * hours.efficiency[self._filling]

    def _set_peaks(self, hour: HourPlan, now: np.ndarray, cost: np.ndarray, low: np.ndarray, row_high: np.ndarray) -> None:
        low[self._peak] = hour.peaks_kw
        cost[self._peak[:, 0]], cost[self._above] = hour.peak_worth[:, 0], hour.peak_worth[:, 1]
        row_high[self._peaks] = np.inf
        row_high[self._peaks[hour.month, hour.outside.astype(int), now]] = 0.0

    def _optimum(self, hour: HourPlan) -> tuple[np.ndarray, float]:
        import highspy

        cost, low, high, row_low, row_high = self._numbers(hour)
        solver, columns, rows = self._solver, len(cost), len(row_low)
        solver.changeColsCost(columns, np.arange(columns, dtype=np.int32), cost)
        solver.changeColsBounds(columns, np.arange(columns, dtype=np.int32), low, high)
        solver.changeRowsBounds(rows, np.arange(rows, dtype=np.int32), row_low, row_high)
        for row, column, value in self._efficiencies(hour):
            solver.changeCoeff(row, column, value)
        solver.run()
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            # A basis that became singular is no reason to stop: the same programme is solved from the beginning.
            solver.clearSolver()
            solver.run()
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise MpcError(f"the plan of an hour was not found: {solver.modelStatusToString(solver.getModelStatus())}")
        return np.array(solver.getSolution().col_value), float(solver.getInfo().objective_function_value)

    def _opened(self, programme: LinearProgramme) -> Any:
        """A solver with a programme, without its costs."""
        import highspy

        self._bounds, self._row_bounds, matrix = programme.bounds, programme.row_bounds, programme.matrix
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = matrix.shape
        model.col_cost_, (model.col_lower_, model.col_upper_) = programme.cost, self._bounds.T
        model.row_lower_, model.row_upper_ = self._row_bounds.T
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
        model.a_matrix_.value_ = matrix.data
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        is_large = len(self._row_bounds) > LARGE
        solver.setOptionValue("solver", "ipm" if is_large else "simplex")
        # Presolve would begin anew in each hour, as the interior point method does.
        solver.setOptionValue("presolve", "on" if is_large else "off")
        solver.setOptionValue("threads", 1)
        if len(self._site.tanks) or len(self._site.rooms):
            # Factors change from hour to hour. Scaled anew, an hour of nine buildings takes 20 ms; as they are, 13 ms.
            solver.setOptionValue("simplex_scale_strategy", 0)
        solver.passModel(model)
        return solver
