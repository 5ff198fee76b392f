"""Where the time of a search went, and the memory that trials took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from results.analysis.searched import frame
from results.loader import Results

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

CAUSES = ("environment", "learner", "evaluation", "rest")
# Between two reports of a trial that runs, clock and stopwatch agree within milliseconds.
_PAUSE = 0.5  # s


def time_spent(results: Results) -> pd.DataFrame:
    """Time of each trial by cause.

    Returns:
        A row for each trial and cause: `trial`, `state`, `role` (`search`, or that of a confirmation: `best`, `default` or
        `candidate`), `cause` (environment, learner, evaluation, or rest: building, inference, saving, waiting), `seconds` (s)
        and `share` (of the time of all trials). Trials run beside each other, so seconds add up to more than the search took.
    """
    trials = results.single.trials
    rows = [
        {"trial": row["trial"], "state": row["state"], "role": row["confirm_role"], "cause": cause, "seconds": row[column]}
        for row in trials.to_dict("records")
        for cause in CAUSES
        if (column := f"{cause}_seconds") in trials and row[column] == row[column]
    ]
    types = {"trial": "int64", "state": "object", "role": "object", "cause": "object", "seconds": "float64"}
    table = frame(rows, types)
    table["role"] = table["role"].fillna("search")
    total = table["seconds"].sum()
    table["share"] = table["seconds"] / total if total > 0.0 else 0.0
    return table


def timeline(results: Results) -> pd.DataFrame:
    """The stretches of time in which trials ran without a pause.

    A trial pauses while it is frozen, and between runs of the search. Its reports tell: the clock went on, its stopwatch did
    not. The time between the last report and a kill is not known.

    Returns:
        A row a stretch, by begin: `trial`, `stretch` (of the trial, from 1), `host`, `device`, `slot` (from 0; the first that
        was free on that host and device), `begin`, `end` (UTC), `seconds` (s), `from_steps`, `to_steps`, `state` (`frozen`
        before a pause, at the end that of the trial) and `role` (see `time_spent`).
    """
    import pandas as pd

    trials = results.single.trials.set_index("trial")
    own = stretches(results.reports)
    for name in ("host", "device"):
        own[name] = own["trial"].map(trials[name]).astype(object).fillna("")
    state = own["trial"].map(trials["state"]).astype(object)
    own["state"] = state.where(~own.duplicated("trial", keep="last"), "frozen")
    own["role"] = own["trial"].map(trials["confirm_role"]).astype(object).fillna("search")
    own = own.sort_values(["begin", "trial"], ignore_index=True)
    own["slot"] = 0
    for _, group in own.groupby(["host", "device"]):
        own.loc[group.index, "slot"] = _slots(group["begin"], group["end"])
    names = ["trial", "stretch", "host", "device", "slot", "begin", "end", "seconds", "from_steps", "to_steps"]
    return pd.DataFrame(own[[*names, "state", "role"]])


def stretches(reports: pd.DataFrame) -> pd.DataFrame:
    """Stretches of `timeline` by trial, without what the rows of trials tell."""
    own = reports[["trial", "steps", "time", "seconds"]].dropna()
    trial = own["trial"]
    ran = own["seconds"].where(trial != trial.shift(), own["seconds"].diff())
    clock = own["time"].diff().dt.total_seconds().where(trial == trial.shift())
    begins = clock.isna() | (clock - ran > _PAUSE)
    stretch = begins.groupby(trial).cumsum().astype("int64")
    before = own["steps"].groupby(trial).shift().fillna(0).astype("int64")
    import pandas as pd

    own = own.assign(stretch=stretch, begin=own["time"] - pd.to_timedelta(ran, unit="s"), ran=ran, from_steps=before)
    return own.groupby(["trial", "stretch"], as_index=False).agg(
        begin=("begin", "first"), end=("time", "last"), seconds=("ran", "sum"), from_steps=("from_steps", "first"),
        to_steps=("steps", "last"),
    )  # fmt: skip


def elapsed(own: pd.DataFrame, at: pd.Series) -> np.ndarray:
    """Seconds of the search by some times: those in which at least one trial ran.

    Returns:
        Shape of `at`.
    """
    import numpy as np

    if own.empty:
        return np.zeros(len(at))
    ordered = own.sort_values("begin")
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


def _slots(begins: pd.Series, ends: pd.Series) -> list[int]:
    """The first free slot of each stretch."""
    free: list[Any] = []
    slots = []
    for begin, end in zip(begins, ends, strict=True):
        slot = next((number for number, until in enumerate(free) if until <= begin), len(free))
        free[slot : slot + 1] = [end]
        slots.append(slot)
    return slots


# Kind of memory: columns of what was predicted, granted and measured.
_COLUMNS = {
    "host": ("predicted_ram_bytes", "granted_ram_bytes", "peak_rss_bytes"),
    "card": ("predicted_vram_bytes", "granted_vram_bytes", "peak_process_vram_bytes"),
}


def memory(results: Results) -> pd.DataFrame:
    """Memory of each trial: predicted by the model, granted, and the most that was measured.

    Returns:
        A row for each trial with a prediction and kind (`host` or `card`): `trial`, `state`, `kind`, `predicted_bytes` (before
        it was corrected), `granted_bytes`, `measured_bytes`, `ratio` (measured to predicted), `exceeded` (more than granted)
        and `out_of_memory` (how often).
    """
    rows: list[dict[str, object]] = []
    own = results.single.trials[results.trials["same_as"].isna()]
    for row in own.to_dict("records"):
        for kind, (predicted, granted, measured) in _COLUMNS.items():
            if not row[predicted] > 0:
                continue
            used = row[measured] if row[measured] > 0 else float("nan")
            rows.append(
                {"trial": row["trial"], "state": row["state"], "kind": kind, "predicted_bytes": row[predicted]}
                | {"granted_bytes": row[granted], "measured_bytes": used, "ratio": used / row[predicted]}
                | {"exceeded": bool(row[granted] > 0 and used > row[granted]), "out_of_memory": row["out_of_memory"]}
            )
    types = {"trial": "int64", "state": "object", "kind": "object"}
    types |= dict.fromkeys(("predicted_bytes", "granted_bytes", "measured_bytes", "ratio"), "float64")
    table = frame(rows, {**types, "exceeded": "bool", "out_of_memory": "float64"})
    table["out_of_memory"] = table["out_of_memory"].fillna(0).astype("int64")
    return table
