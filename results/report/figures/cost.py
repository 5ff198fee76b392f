"""Rating against time and memory."""

import pandas as pd

from results import analysis
from results.report.charts import Figure, Panel, by_state, channel, chart, colour, hover, layer, least, sampled
from results.report.subjects import Search
from results.report.words import counted, duration, first_of, percent, score

PLACES = {"experiment": 15}  # in the sections of these kinds
MOST_POINTS = 400
_NEAR = 0.05  # a score this close to the best's, as a part of it, counts as near
_GIB = 2.0**30


def figure(search: Search) -> Figure:
    return cost(search.table(analysis.leaderboard))


def cost(board: pd.DataFrame) -> Figure:
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
    colours = by_state(shown)
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
    omitted = first_of(len(shown), len(rated), "trials")
    note = f"Trials on the dashed line are beaten by none that needs less. The ring is the best.{omitted}"
    return Figure("cost", question, answer, tuple(panels), table, note)


def _front(rated: pd.DataFrame, column: str) -> pd.DataFrame:
    """Trials that no other one beats for as little, in the order of their cost."""
    ordered = rated.sort_values([column, "rating"], ascending=[True, False])
    return ordered[ordered["rating"] > ordered["rating"].cummax().shift(fill_value=float("-inf"))]
