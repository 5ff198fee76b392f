"""Measured against predicted memory."""

import pandas as pd

from results import analysis
from results.report.charts import Figure, Panel, channel, chart, colour, hover, layer, sampled
from results.report.subjects import Search
from results.report.words import capital, number

PLACES = {"experiment": 17}  # in the sections of these kinds
MOST_POINTS = 400
_GIB = 2.0**30
_KINDS = {"host": "host memory", "card": "GPU memory"}


def figure(search: Search) -> Figure:
    return memory(analysis.memory(search.results))


def memory(found: pd.DataFrame) -> Figure:
    question = "Was memory predicted well?"
    known = found[found["measured_bytes"].notna() & (found["measured_bytes"] > 0) & (found["predicted_bytes"] > 0)]
    if known.empty:
        return Figure("memory", question, "It cannot be said: no memory was measured.")
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
    answer = f"{capital('; '.join(parts))}{f'; memory ran out {lost:,} times' if lost else ''}."
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
        panels.append(Panel(chart(line, points, height=200), capital(_KINDS[kind])))
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
