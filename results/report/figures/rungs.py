"""How early the order of trials tells their order at the end."""

import pandas as pd

from results import analysis
from results.report.charts import Figure, Panel, channel, chart, colour, greatest, hover, layer
from results.report.subjects import Search
from results.report.words import counted, interval, number, percent

PLACES = {"experiment": 12}  # in the sections of these kinds
LEAST_RANKED = 8  # trials for an answer about their order; four are in the same order once in 24 cases by chance


def figure(search: Search) -> Figure:
    return rungs(analysis.rung_ranks(search.results))


def rungs(ranks: pd.DataFrame) -> Figure:
    question = "Could trials be stopped earlier?"
    told = ranks[ranks["correlation"].notna() & (ranks["trials"] >= LEAST_RANKED)]
    if told.empty:
        most = int(ranks["trials"].max()) if len(ranks) else 0
        answer = f"It cannot be said from {counted(most, 'trial')} with two evaluations; it takes at least {LEAST_RANKED}."
        return Figure("rungs", question, answer)
    # Where few trials were trained to the end, it is the latest evaluation that enough of them reached.
    against = int(told["against"].max())
    known = told[told["against"] == against]
    ended = bool(known["is_last"].any())
    later = "the last evaluation" if ended else f"evaluation {against}"
    reached = "" if ended else f" (the latest that {LEAST_RANKED} trials reached)"
    known = known.assign(place=known["part"].fillna(known["rung"] / known["against"]))
    sure = known[known["low"] > 0.5]
    trials = int(known["trials"].max())
    if sure.empty:
        top = greatest(known, "correlation")
        answer = (
            f"That cannot be shown: with {counted(trials, 'trial')} no early order is surely like that of {later} "
            f"(at most {number(top.correlation)} {interval(top.low, top.high)})."
        )
    else:
        first = sure.iloc[0]
        answer = (
            f"{'Yes' if ended else 'Perhaps'}, after {percent(first.place)} of the training: the order of trials there is much "
            f"like that of {later}{reached}, and the later best was among the best {percent(first.kept)} (rank correlation "
            f"{number(first.correlation)} {interval(first.low, first.high)}; 1 is the same order)."
        )
    # An axis from -1 would be empty where all orders are alike.
    lowest = -1 if bool((known[["low", "correlation"]] < 0.0).to_numpy().any()) else 0
    x = channel("place", title="part of the training", axis={"format": ".0%"}, scale={"domain": [0, 1]})
    band = layer(
        known[known["low"].notna()], {"type": "rule", "color": colour("c1"), "strokeWidth": 1.5}, x=x,
        y=channel("low", title=f"rank correlation with {later}", scale={"domain": [lowest, 1]}), y2={"field": "high"},
    )  # fmt: skip
    lines = layer(
        known, {"type": "line", "point": {"size": 45, "filled": True}}, x=x, y=channel("correlation"),
        tooltip=hover(("rung", "evaluation"), ("correlation", "correlation"), ("trials", "trials")),
    )  # fmt: skip
    table = known[["rung", "place", "trials", "correlation", "low", "high", "kept"]].rename(
        columns={"rung": "evaluation", "place": "part of the training", "kept": "part that holds the best"}
    )
    note = f"Only trials that reached {later} are compared, and those were good before. Bars are 95 % intervals."
    return Figure("rungs", question, answer, (Panel(chart(band, lines)),), table, note)
