"""Figures of what a search took: score against cost and memory, who worked when, and predicted memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.report.charts import channel, chart, coloured, hover, layer, sampled
from results.report.colours import colour
from results.report.figure import Figure, Panel
from results.report.figures.course import STATES
from results.report.rows import least
from results.report.words import counted, duration, number, percent, score

if TYPE_CHECKING:
    import pandas as pd

MOST_POINTS = 400
MOST_STRETCHES = 500  # of the timeline
_NEAR = 0.05  # a score this close to the best's, as a part of it, counts as near
_GIB = 2.0**30


def cost(board: pd.DataFrame) -> Figure:
    """Rating against time and memory.

    Args:
        board: of `results.analysis.leaderboard`.
    """
    question = "Which trial is nearly as good for less?"
    rated = board[board["rating"].notna() & board["seconds"].notna() & board["state"].isin(["complete", "frozen", "pruned"])]
    if len(rated) < 2:
        return Figure("cost", question, f"It cannot be said from {counted(len(rated), 'rated trial')}.")
    rated = rated.assign(minutes=rated["seconds"] / 60.0, memory=rated["peak_rss_bytes"] / _GIB)
    rated["vram"] = rated["peak_process_vram_bytes"] / _GIB
    best = rated.iloc[0]
    near = rated[(rated["rating"] >= best["rating"] - _NEAR * abs(best["rating"])) & (rated["trial"] != best["trial"])]
    if near.empty:
        answer = f"None: no other trial comes within {percent(_NEAR)} of trial {best.trial} with {score(best.rating)}."
    else:
        cheap = least(near, "seconds")
        share = cheap["seconds"] / best["seconds"] if best["seconds"] > 0 else float("nan")
        answer = (
            f"Trial {cheap.trial} has {score(cheap.rating)} after {duration(cheap.seconds)}, {percent(share)} of the time of "
            f"the best, trial {best.trial} with {score(best.rating)}."
            if share < 1.0
            else f"None: all {counted(len(near), 'other trial')} within {percent(_NEAR)} of trial {best.trial} took longer."
        )
    shown = sampled(rated, MOST_POINTS)
    names = [state for state in STATES if (shown["state"] == state).any()]
    colours = coloured("state", names, [STATES[name] for name in names])
    sizes = [("minutes", "minutes of training", "Time"), ("memory", "host memory at most, GiB", "Host memory")]
    if rated["vram"].max() > 0:
        sizes.append(("vram", "GPU memory at most, GiB", "GPU memory"))
    panels = []
    for column, title, heading in sizes:
        own = shown[shown[column].notna()]
        x = channel(column, title=title, scale={"zero": column == "minutes"})
        y = channel("rating", title="rating", scale={"zero": False})
        tip = hover(("trial", "trial"), ("rating", "rating"), (column, title), ("state", "state"))
        points = layer(
            own, {"type": "point", "filled": True, "size": 35, "opacity": 0.75}, x=x, y=y, color=colours, tooltip=tip
        )
        ring = layer(
            own[own["is_best"]], {"type": "point", "size": 150, "color": colour("ink"), "strokeWidth": 2}, x=x, y=y, tooltip=tip
        )
        front = _front(rated[rated[column].notna()], column)
        edge = layer(front, {"type": "line", "strokeDash": [4, 3], "color": colour("grey"), "strokeWidth": 1.5}, x=x, y=y)
        panels.append(Panel(chart(edge, points, ring, height=220), heading))
    table = rated[["trial", "state", "rating", "minutes", "memory"]].rename(columns={"memory": "host memory, GiB"})
    omitted = f" Shown are {len(shown):,} of {len(rated):,} trials." if len(shown) < len(rated) else ""
    note = f"Trials on the dashed line are beaten by none that needs less. The ring is the best.{omitted}"
    return Figure("cost", question, answer, tuple(panels), table, note)


def _front(rated: pd.DataFrame, column: str) -> pd.DataFrame:
    """Trials that no other one beats for as little, in the order of their cost."""
    ordered = rated.sort_values([column, "rating"], ascending=[True, False])
    return ordered[ordered["rating"] > ordered["rating"].cummax().shift(fill_value=float("-inf"))]


def timeline(line: pd.DataFrame, spent: pd.DataFrame) -> Figure:
    """Which trial ran when and where, and what the time went into.

    Args:
        line: of `results.analysis.timeline`.
        spent: of `results.analysis.time_spent`.
    """
    question = "Where did the time go?"
    if line.empty:
        return Figure("timeline", question, "It cannot be said: no trial has reported.")
    import pandas as pd

    begin = line["begin"].min()
    drawn = line.assign(
        start=(line["begin"] - begin).dt.total_seconds() / 60.0, stop=(line["end"] - begin).dt.total_seconds() / 60.0
    )
    # A trial that pauses has several stretches. They count for how it ended: else most of a complete trial looks frozen.
    ended = line.sort_values("end").groupby("trial")["state"].last()
    drawn["ended"] = drawn["trial"].map(ended)
    whole = float(drawn["stop"].max())
    places = line["host"].astype(str) + " " + line["device"].astype(str)
    several = line["host"].nunique() > 1
    drawn["place"] = (places if several else line["device"].astype(str)) + ", slot " + (line["slot"] + 1).astype(str)
    slots = drawn["place"].nunique()
    busy = float((drawn["stop"] - drawn["start"]).sum()) / (whole * slots) if whole > 0 else float("nan")
    causes = spent.groupby("cause")["seconds"].sum().sort_values(ascending=False)
    parts = causes / causes.sum() if len(causes) and causes.sum() > 0 else causes
    told = f"; {_CAUSES[parts.index[0]]} took {percent(float(parts.iloc[0]))} of it" if len(parts) and parts.iloc[0] > 0 else ""
    time = f"{percent(busy)} of {duration(whole * 60.0)} from first to last report"
    answer = f"{_capital(counted(slots, 'slot'))} for trials worked {time}{told}."
    shown = drawn.sort_values("seconds", ascending=False).head(MOST_STRETCHES)
    names = [state for state in STATES if (shown["ended"] == state).any()]
    bars = layer(
        shown, {"type": "bar", "height": 14, "stroke": colour("card"), "strokeWidth": 0.6},
        y=channel("place", "nominal", axis={"labelLimit": 130}), x=channel("start", title="minutes since the first began"),
        x2={"field": "stop"}, color=coloured("ended", names, [STATES[name] for name in names]),
        tooltip=hover(("trial", "trial"), ("start", "from minute"), ("stop", "to"), ("ended", "at the end"),
            ("state", "after it"), ("role", "role")),
    )  # fmt: skip
    panels = [Panel(chart(bars, height=max(60, 24 * slots)), "Trials by device; the colour says how the trial ended")]
    if len(parts):
        shares = pd.DataFrame({"cause": [_CAUSES[name] for name in parts.index], "share": parts.to_numpy()})
        of = layer(
            shares, {"type": "bar", "height": 14}, y=channel("cause", "nominal", sort=None, axis={"labelLimit": 130}),
            x=channel("share", title="part of the time of all trials", axis={"format": ".0%"}),
            tooltip=[*hover(("cause", "what")), {"field": "share", "title": "part", "format": ".1%"}],
        )  # fmt: skip
        panels.append(Panel(chart(of, height=22 * len(shares)), "Time of all trials by cause"))
    table = spent.pivot_table(index=["trial", "state"], columns="cause", values="seconds", aggfunc="sum").reset_index()
    table.columns.name = None
    table = table.rename(columns={name: f"{_CAUSES[name]}, s" for name in table.columns if name in _CAUSES})
    omitted = f"Shown are the {len(shown):,} longest of {len(drawn):,} stretches." if len(shown) < len(drawn) else ""
    parts_of = int((drawn["trial"].value_counts() > 1).sum())
    paused = f" {_capital(counted(parts_of, 'trial'))} paused, and {'has' if parts_of == 1 else 'have'} several blocks."
    note = f"A slot is a place in which one trial runs at a time.{paused if parts_of else ''} {omitted}".strip()
    return Figure("timeline", question, answer, tuple(panels), table, note)


_CAUSES = {"environment": "the environment", "learner": "learning", "evaluation": "evaluations", "rest": "everything else"}


def memory(found: pd.DataFrame) -> Figure:
    """Measured against predicted memory.

    Args:
        found: of `results.analysis.memory`.
    """
    question = "Was memory predicted well?"
    known = found[found["measured_bytes"].notna() & (found["measured_bytes"] > 0) & (found["predicted_bytes"] > 0)]
    if known.empty:
        return Figure("memory", question, "It cannot be said: no memory was measured.")
    import pandas as pd

    parts = []
    kinds = [(str(kind), own) for kind, own in known.groupby("kind", sort=False)]
    for kind, own in kinds:
        over = int(own["exceeded"].sum())
        middle = float(own["ratio"].median())
        parts.append(
            f"trials took {number(middle)} times the predicted {_KINDS[kind]} (median of {len(own):,}), and "
            f"{'none' if not over else f'{over:,}'} exceeded what it was granted"
        )
    lost = int(found.groupby("trial")["out_of_memory"].max().sum())
    answer = f"{_capital('; '.join(parts))}{f'; memory ran out {lost:,} times' if lost else ''}."
    panels = []
    for kind, own in kinds:
        drawn = sampled(own.sort_values("predicted_bytes"), MOST_POINTS)
        drawn = drawn.assign(predicted=drawn["predicted_bytes"] / _GIB, measured=drawn["measured_bytes"] / _GIB)
        low, high = (float(getattr(drawn[["predicted", "measured"]].to_numpy(), end)()) for end in ("min", "max"))
        line = layer(
            pd.DataFrame({"predicted": [low, high], "measured": [low, high]}),
            {"type": "line", "strokeDash": [4, 3], "color": colour("grey"), "strokeWidth": 1.5},
            x=channel("predicted", title="predicted, GiB", scale={"zero": False}),
            y=channel("measured", title="measured, GiB", scale={"zero": False}),
        )  # fmt: skip
        points = layer(
            drawn, {"type": "point", "filled": True, "size": 35, "opacity": 0.75}, x=channel("predicted"),
            y=channel("measured"),
            tooltip=hover(("trial", "trial"), ("predicted", "predicted, GiB"), ("measured", "measured, GiB")),
        )  # fmt: skip
        panels.append(Panel(chart(line, points, height=200), _capital(_KINDS[kind])))
    table = known.assign(
        predicted=known["predicted_bytes"] / _GIB,
        granted=known["granted_bytes"] / _GIB,
        measured=known["measured_bytes"] / _GIB,
    )[["trial", "kind", "predicted", "granted", "measured", "ratio"]]
    table = table.rename(columns={name: f"{name}, GiB" for name in ("predicted", "granted", "measured")})
    note = (
        "On the dashed line measured and predicted are the same. The prediction is the one before earlier trials corrected it."
    )
    return Figure("memory", question, answer, tuple(panels), table, note)


_KINDS = {"host": "host memory", "card": "GPU memory"}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
