"""How much of each range was tried."""

import pandas as pd

from results import analysis
from results.report.charts import Figure, Panel, channel, chart, colour, each, hover, layer, parts
from results.report.subjects import Search
from results.report.words import first_of, listed, percent, plain

PLACES = {"experiment": 10}  # in the sections of these kinds


def figure(search: Search) -> Figure:
    return coverage(analysis.coverage(search.results))


def coverage(found: pd.DataFrame) -> Figure:
    question = "What has the search not tried?"
    if found.empty:
        return Figure("coverage", question, "It cannot be said: the search has no ranges or no trials.")
    ranked = found.sort_values("tried")
    untried = [f"{row.hyperparameter}={row.untried}" for row in each(ranked) if row.untried]
    gaps = ranked[ranked["gap"].notna()].sort_values("gap", ascending=False)
    told = []
    if len(gaps) and gaps["gap"].iloc[0] > 0.2:
        widest = gaps.iloc[0]
        told.append(
            f"{widest.hyperparameter} between {plain(widest.gap_low)} and {plain(widest.gap_high)}, "
            f"{percent(widest.gap)} of its range"
        )
    if untried:
        told.append(listed(untried[:3]))
    mean = float(found["tried"].mean())
    where = f"the widest gap is {' and '.join(told)}" if told else "no gap is wider than a fifth of a range"
    answer = f"On average {percent(mean)} of a range was tried; {where}."
    drawn = ranked.head(25)
    y = channel("hyperparameter", "nominal", sort=None, axis={"labelLimit": 170})
    bars = layer(
        drawn, {"type": "bar", "height": 12}, y=y,
        x=channel("tried", title="part of the range with a trial", axis={"format": ".0%"}, scale={"domain": [0, 1]}),
        tooltip=[*hover(("hyperparameter", "hyperparameter"), ("values", "different values")), *parts("tried", "expected")],
    )  # fmt: skip
    even = layer(drawn, {"type": "tick", "color": colour("c2"), "thickness": 2.5, "size": 14}, y=y, x=channel("expected"))
    table = found[["hyperparameter", "trials", "values", "tried", "expected", "gap_low", "gap_high", "untried"]]
    table = table.assign(
        tried=[percent(value) for value in found["tried"]], expected=[percent(value) for value in found["expected"]]
    )
    table = table.rename(columns={"gap_low": "widest gap from", "gap_high": "to", "expected": "even draws would try"})
    note = (
        "Orange marks: the part that as many random draws would have tried. Parts are of the scale of the search."
        + first_of(len(drawn), len(found), "hyperparameters")
    )
    return Figure("coverage", question, answer, (Panel(chart(bars, even, height=20 * len(drawn))),), table, note)
