"""From the default to the best, one change at a time."""

import pandas as pd

from results import analysis
from results.analysis.searched import misses, searched
from results.report.charts import Figure, Panel, channel, chart, colour, coloured, each, greatest, hover, layer
from results.report.subjects import Search
from results.report.words import counted, first_of, interval, number, plain, score

PLACES = {"experiment": 7}  # in the sections of these kinds
MOST_ROWS = 15


def figure(search: Search) -> Figure:
    found, own, important = (search.table(made) for made in (analysis.default_to_best, searched, analysis.importance))
    missed = frozenset(own.loc[misses(own), "trial"].tolist())
    return changes(found, search.rated, search.best, search.default, missed, own, important)


def changes(
    found: pd.DataFrame, trials: int, best: int | None, default: int | None, missed: frozenset[int] = frozenset(),
    rated: pd.DataFrame | None = None, important: pd.DataFrame | None = None,
) -> Figure:  # fmt: skip
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
        answer = f"None surely: the model expects most of {top.hyperparameter}, {most}{whole}."
    answer += _measured(found, rated, best, default) if rated is not None else ""
    drawn = found.head(MOST_ROWS).copy()
    # Three lines, as a name and two values are wider than the axis of a phone.
    drawn["name"] = [
        f"{row.hyperparameter}\n{_short(row.before)} → {_short(row.after)}\n{score(row.gain)}" for row in each(drawn)
    ]
    drawn["sign"] = ["gain" if value >= 0 else "loss" for value in drawn["gain"]]
    drawn["from"] = drawn["predicted"] - drawn["gain"]
    drawn["low"], drawn["high"] = drawn["from"] + drawn["gain_low"], drawn["from"] + drawn["gain_high"]
    y = channel(
        "name", "nominal", sort=None, axis={"labelLimit": 230, "labelExpr": "split(datum.label, '\\n')", "labelOffset": -14}
    )
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
    note = (
        "A model of all trials (a Gaussian process) predicts the rating after each change, at the steps of the best; lines are "
        "its 95 % intervals. Gains depend on the order in which the changes are made."
        f"{_ranked(sure if len(sure) else found, important)}{first_of(len(drawn), len(found), 'changes')}"
    )
    return Figure("changes", question, answer, (Panel(chart(bars, ends, height=50 * len(drawn))),), table, note)


def _measured(found: pd.DataFrame, rated: pd.DataFrame, best: int | None, default: int | None) -> str:
    """What was measured between both, and what part of it is longer training: so the gains above are no contradiction."""
    (first, *_), (last, *_) = (rated[rated["trial"] == number].to_dict("records") for number in (default, best))
    gap = float(last["rating"] - first["rating"])
    steps = int(first["steps"]), int(last["steps"])
    told = f" Measured, the best is {number(abs(gap))} {'above' if gap >= 0 else 'below'} the default"
    if steps[0] == steps[1]:
        return f"{told}."
    start = found.iloc[0]
    longer = float(start.predicted - start.gain - first["rating"])
    return (
        f"{told}; of this the model explains {score(longer)} by training alone, as the default ended after {steps[0]:,} steps "
        f"and the best after {steps[1]:,}."
    )


def _ranked(of: pd.DataFrame, important: pd.DataFrame | None) -> str:
    """Why the importance ranks the greatest change otherwise; nothing where it does not."""
    if important is None or important.empty:
        return ""
    name = greatest(of, "gain").hyperparameter
    order = list(important["hyperparameter"])
    if name not in order or order.index(name) == 0:
        return ""
    return (
        f" By importance {name} is number {order.index(name) + 1} of {len(order)}. That compares the best trials with all "
        "others, and not with the default, so what most trials share counts little there."
    )


def _short(text: str) -> str:
    """A value as a text, with three significant digits where it is a number."""
    try:
        return plain(float(text))
    except ValueError:
        return text
