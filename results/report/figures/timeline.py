"""Which trial ran when and where, and what the time went into."""

import pandas as pd

from results import analysis
from results.report.charts import Figure, Panel, by_state, channel, chart, colour, hover, layer
from results.report.subjects import Search
from results.report.words import capital, counted, duration, percent

PLACES = {"experiment": 16}  # in the sections of these kinds
MOST_STRETCHES = 500  # of the timeline
_CAUSES = {"environment": "the environment", "learner": "learning", "evaluation": "evaluations", "rest": "everything else"}


def figure(search: Search) -> Figure:
    return timeline(analysis.timeline(search.results), analysis.time_spent(search.results))


def timeline(line: pd.DataFrame, spent: pd.DataFrame) -> Figure:
    question = "Where did the time go?"
    if line.empty:
        return Figure("timeline", question, "It cannot be said: no trial has reported.")
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
    answer = f"{capital(counted(slots, 'slot'))} for trials worked {time}{told}."
    shown = drawn.sort_values("seconds", ascending=False).head(MOST_STRETCHES)
    bars = layer(
        shown, {"type": "bar", "height": 14, "stroke": colour("card"), "strokeWidth": 0.6},
        y=channel("place", "nominal", axis={"labelLimit": 130}), x=channel("start", title="minutes since the first began"),
        x2={"field": "stop"}, color=by_state(shown, "ended"),
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
    paused = f" {capital(counted(parts_of, 'trial'))} paused, and {'has' if parts_of == 1 else 'have'} several blocks."
    note = f"A slot is a place in which one trial runs at a time.{paused if parts_of else ''} {omitted}".strip()
    return Figure("timeline", question, answer, tuple(panels), table, note)
