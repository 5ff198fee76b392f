"""When the trials of a search ran."""

import numpy as np
import pandas as pd

# Between two reports of a trial that runs, clock and stopwatch agree within milliseconds.
_PAUSE = 0.5  # s


def stretches(reports: pd.DataFrame) -> pd.DataFrame:
    """The stretches of time in which trials ran without a pause.

    A trial pauses while it is frozen, and between runs of the search. Its reports tell: the clock went on, its stopwatch did
    not. The time between the last report and a kill is not known.

    Returns:
        A row a stretch: `trial`, `stretch` (of the trial, from 1), `begin`, `end` (UTC) and `seconds` (s).
    """
    rows = reports[["trial", "steps", "time", "seconds"]].dropna()
    trial = rows["trial"]
    ran = rows["seconds"].where(trial != trial.shift(), rows["seconds"].diff())
    clock = rows["time"].diff().dt.total_seconds().where(trial == trial.shift())
    begins = clock.isna() | (clock - ran > _PAUSE)
    stretch = begins.groupby(trial).cumsum().astype("int64")
    rows = rows.assign(stretch=stretch, begin=rows["time"] - pd.to_timedelta(ran, unit="s"), ran=ran)
    groups = rows.groupby(["trial", "stretch"], as_index=False)
    return groups.agg(begin=("begin", "first"), end=("time", "last"), seconds=("ran", "sum"))


def elapsed(stretches: pd.DataFrame, at: pd.Series) -> np.ndarray:
    """Seconds in which at least one trial ran, up to each of some times.

    Returns:
        Shape of `at`.
    """
    if stretches.empty:
        return np.zeros(len(at))
    ordered = stretches.sort_values("begin")
    begins, ends = _seconds(ordered["begin"]), np.maximum.accumulate(_seconds(ordered["end"]))
    # What was covered before; a stretch adds what lies behind the latest end so far.
    first = np.maximum(begins, np.concatenate([[-np.inf], ends[:-1]]))
    lasts = np.maximum(ends, first)
    whole = np.concatenate([[0.0], np.cumsum(lasts - first)])
    when = _seconds(at)
    place = np.searchsorted(first, when, side="right")
    latest = np.maximum(place - 1, 0)
    part = np.clip(when, first[latest], lasts[latest]) - first[latest]
    return np.where(place > 0, whole[latest] + part, 0.0)


def _seconds(times: pd.Series) -> np.ndarray:
    # As whole microseconds first: seconds since 1970 as floats keep only a part of them.
    return times.astype("datetime64[us, UTC]").astype("int64").to_numpy() / 1e6
