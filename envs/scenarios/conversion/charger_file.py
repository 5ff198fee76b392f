"""Repairs of a charger's file."""

from collections.abc import Iterator

import numpy as np

from common.texts import number_or_nan
from envs.scenarios.conversion.cells import Cells, Found
from envs.scenarios.series_files import ARRIVAL_SOC, AWAY, COMING, CURRENT_SOC, DEPARTURE, ID, PLUGGED, REQUIRED_SOC, STATE

MEAN = "mean"  # of `ConversionOptions.arrival_soc`
_LAST = 1  # countdown in the last row of a session where no session of the file has one


def repair(cells: Cells, rows: int, arrival_soc: str, small_soc: str) -> Iterator[Found]:
    """Repair a charger's file with all columns that CityLearn needs; gives what was found.

    Args:
        cells: the file.
        rows: of the site, which are all that CityLearn reads.
        arrival_soc: see `ConversionOptions`.
        small_soc: likewise.
    """
    yield from _states(cells, rows)
    yield from _departures(cells, rows)
    for column in (REQUIRED_SOC, ARRIVAL_SOC, CURRENT_SOC):
        if column in cells.frame:
            yield from _small(cells, column, rows, small_soc)
    yield from _arrivals(cells, rows, arrival_soc)
    if len(cells.frame) > rows:
        beyond = tuple(range(rows + 2, len(cells.frame) + 2))
        what = f"more than the site's {rows:,}"
        yield Found(cells.file.name, "rows", beyond, what, "the first ones stay, which are all that CityLearn reads")
        cells.cut(rows)


def _lines(mask: np.ndarray, rows: int) -> tuple[int, ...]:
    return tuple((np.flatnonzero(mask[:rows]) + 2).tolist())


def _states(cells: Cells, rows: int) -> Iterator[Found]:
    text = cells.text(STATE)
    pointed = np.isin(text, [f"{state}.0" for state in (PLUGGED, COMING, AWAY)])
    if pointed.any():
        what = "a decimal point, by which CityLearn 3 connects no vehicle"
        yield Found(cells.file.name, STATE, _lines(pointed, rows), what, "now whole numbers")
        cells.put(STATE, pointed, cells.numbers(STATE)[pointed])


def _state(cells: Cells) -> np.ndarray:
    state = cells.numbers(STATE)
    return np.where(np.isnan(state), 0, state).astype(np.int64)


def _runs(state: np.ndarray, vehicle: np.ndarray, wanted: int) -> Iterator[slice]:
    inside = np.concatenate([[False], state == wanted, [False]])
    changes = np.concatenate([[True], vehicle[1:] != vehicle[:-1], [True]])
    starts = np.flatnonzero(inside[1:] & (~inside[:-1] | changes))
    ends = np.flatnonzero(inside[:-1] & (~inside[1:] | changes))
    yield from (slice(start, end) for start, end in zip(starts, ends, strict=True))


def _departures(cells: Cells, rows: int) -> Iterator[Found]:
    """Count hours to the departure back from where the file shows it: where a later row has them, or the vehicle is gone."""
    state, left = _state(cells), cells.numbers(DEPARTURE)
    missing = (state == PLUGGED) & ~(left >= 0.0)
    if not missing[:rows].any():
        return
    stays = list(_runs(state, cells.text(ID), PLUGGED))
    known = left[[stay.stop - 1 for stay in stays if not missing[stay.stop - 1]]]
    values, counts = np.unique(known, return_counts=True)
    last = values[counts.argmax()] if len(known) else _LAST
    for stay in stays:
        after = last
        for row in range(stay.stop - 1, stay.start - 1, -1):
            if missing[row]:
                left[row] = after
            after = left[row] + 1
    what = "no hours to the departure in rows with state 1"
    yield Found(
        cells.file.name, DEPARTURE, _lines(missing, rows), what, "counted back from the row in which the vehicle leaves"
    )
    cells.put(DEPARTURE, missing, left[missing])


def _small(cells: Cells, column: str, rows: int, means: str) -> Iterator[Found]:
    """Make shares of a column in which values up to 1 stand beside percentages."""
    soc = cells.numbers(column)
    small, percent = (soc > 0.0) & (soc <= 1.0), soc > 1.0
    if not (small[:rows].any() and percent[:rows].any()):
        return
    done = "read as percentages" if means == "percent" else "read as shares, so that 1 is full"
    ask = "--small-soc percent if 1 is one per cent, share if it is full, as CityLearn 3 reads it"
    what = "at most 1 beside percentages"
    yield Found(cells.file.name, column, _lines(small, rows), what, done if means else ask, decided=bool(means))
    divided = percent | small if means != "share" else percent
    cells.put(column, divided, soc[divided] / 100.0)


def _arrivals(cells: Cells, rows: int, given: str) -> Iterator[Found]:
    state, vehicle, soc = _state(cells), cells.text(ID), cells.numbers(ARRIVAL_SOC)
    soc[soc < 0.0] = np.nan  # CityLearn's and the data's way to write that there is none
    copied, unknown = np.zeros((2, len(soc)), dtype=bool)
    for coming in _runs(state, vehicle, COMING):
        part, values = soc[coming], np.unique(soc[coming][~np.isnan(soc[coming])])
        # Other rows of the same announcement say it.
        (copied if len(values) == 1 else unknown)[coming] = np.isnan(part)
        if len(values) == 1:
            soc[coming] = values[0]
    before, other = np.roll(state, 1), np.roll(vehicle, 1) != vehicle
    arrives = (state == PLUGGED) & ((before == AWAY) | ((before == PLUGGED) & other))
    arrives[:1] = False
    unknown |= arrives & np.isnan(soc)
    copied, unknown = (mask & (np.arange(len(soc)) < rows) for mask in (copied, unknown))
    name, what = cells.file.name, "no state of charge on arrival"
    if copied.any():
        done = "that of the other rows of the announcement"
        yield Found(name, ARRIVAL_SOC, _lines(copied, rows), f"{what} in a part of an announcement", done)
        cells.put(ARRIVAL_SOC, copied, soc[copied])
    if not unknown.any():
        return
    ask = f"--arrival-soc {MEAN} for that of the vehicle's other arrivals here, or a share of the battery, as 0.5"
    means = {name: np.nanmean(soc[vehicle == name]) for name in set(vehicle[~np.isnan(soc) & (vehicle != "")])}
    percent = bool((soc > 1.0).any())
    if given == MEAN or not given:
        values = np.array([means.get(name, np.nan) for name in vehicle[unknown]])
        ask = (
            ask
            if not np.isnan(values).any()
            else "--arrival-soc with a share of the battery, as a vehicle has no other arrival"
        )
        done = "the mean of the vehicle's other arrivals here"
    else:
        values = np.full(unknown.sum(), number_or_nan(given) * (100.0 if percent else 1.0))
        done = f"now {given} of the battery"
    decided = bool(given) and not np.isnan(values).any()
    yield Found(name, ARRIVAL_SOC, _lines(unknown, rows), what, done if decided else ask, decided)
    # Whole percentages, or shares of four digits; none of 1 or less in a column of percentages.
    values = np.where(np.isnan(values), 0.5, values)
    cells.put(ARRIVAL_SOC, unknown, np.maximum(values.round(), 2.0) if percent else values.round(4))
