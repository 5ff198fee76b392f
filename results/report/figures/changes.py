"""The figure of the way from the default to the best."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.report.charts import channel, chart, coloured, hover, layer
from results.report.colours import colour
from results.report.figure import Figure, Panel
from results.report.rows import each, greatest
from results.report.words import counted, interval, plain, score

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 15


def changes(
    found: pd.DataFrame, trials: int, best: int | None, default: int | None, missed: frozenset[int] = frozenset()
) -> Figure:
    """From the default to the best, one change at a time.

    Args:
        found: of `results.analysis.default_to_best`.
        trials: how many were rated.
        best: number of the winner; None without one.
        default: number of the default's trial; None without one.
        missed: numbers of trials that miss a requirement.
    """
    question = "From the default to the best: which change paid?"
    if found.empty:
        if best is not None and best == default:
            return Figure("changes", question, f"None: the default, trial {best}, is the best so far.")
        why = (
            "no trial has won"
            if best is None
            else "the default was not tried"
            if default is None
            else "the best misses a requirement"
            if best in missed
            else "the default misses a requirement"
            if default in missed
            else "it takes more that differ"
        )
        return Figure("changes", question, f"It cannot be said from {counted(trials, 'trial')}: {why}.")
    top = greatest(found, "gain")
    last = found.iloc[-1]
    sure = found[found["gain_low"] > 0.0]
    whole = f"; all {counted(len(found), 'change')} together {score(last.total)} {interval(last.total_low, last.total_high)}"
    whole = whole if len(found) > 1 else ""
    if len(sure):
        paid = greatest(sure, "gain")
        answer = (
            f"{paid.hyperparameter}, from {_short(paid.before)} to {_short(paid.after)}: {score(paid.gain)} "
            f"{interval(paid.gain_low, paid.gain_high)} by the model{whole}."
        )
    else:
        most = f"{score(top.gain)} {interval(top.gain_low, top.gain_high)}"
        answer = f"None surely: {top.hyperparameter} is expected to bring most, {most}{whole}."
    drawn = found.head(MOST_ROWS).copy()
    drawn["name"] = [f"{row.hyperparameter}: {_short(row.before)} → {_short(row.after)}" for row in each(drawn)]
    drawn["sign"] = ["gain" if value >= 0 else "loss" for value in drawn["gain"]]
    drawn["from"] = drawn["predicted"] - drawn["gain"]
    drawn["low"], drawn["high"] = drawn["from"] + drawn["gain_low"], drawn["from"] + drawn["gain_high"]
    y = channel("name", "nominal", sort=None, axis={"labelLimit": 210})
    bars = layer(
        drawn, {"type": "bar", "height": 14}, y=y, x=channel("from", title="predicted rating", scale={"zero": False}),
        x2={"field": "predicted"}, color=coloured("sign", ["gain", "loss"], ("c1", "c2"), legend=None),
        tooltip=hover(("name", "change"), ("gain", "gain"), ("gain_low", "from"), ("gain_high", "to"), ("predicted", "sum")),
    )  # fmt: skip
    ends = layer(
        drawn, {"type": "rule", "color": colour("ink")}, y=y, x=channel("low", title="predicted rating"), x2={"field": "high"}
    )
    found = found.assign(before=[_short(text) for text in found["before"]], after=[_short(text) for text in found["after"]])
    table = found[["step", "hyperparameter", "before", "after", "gain", "gain_low", "gain_high", "predicted"]].rename(
        columns={"gain_low": "from", "gain_high": "to", "predicted": "rating after it"}
    )
    omitted = f" Shown are {len(drawn)} of {len(found)} changes." if len(drawn) < len(found) else ""
    note = (
        "A Gaussian process over all trials predicts each step; lines are its 95 % intervals. Gains depend on the order where "
        f"changes interact.{omitted}"
    )
    return Figure("changes", question, answer, (Panel(chart(bars, ends, height=26 * len(drawn))),), table, note)


def _short(text: str) -> str:
    """A value as a text, with three significant digits where it is a number."""
    try:
        return plain(float(text))
    except ValueError:
        return text
