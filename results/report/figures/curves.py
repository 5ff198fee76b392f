"""Ratings over training."""

import pandas as pd

from common.texts import counted
from results import analysis
from results.report.charts import STATES, Figure, Panel, by_kind, channel, chart, colour, coloured, hover, layer, sampled
from results.report.subjects import Search
from results.report.words import percent

PLACES = {"experiment": 12}  # in the sections of these kinds
MOST_CURVES = 60
_RISING = 0.05  # part of a trial's whole gain in the last quarter of its training


def figure(search: Search) -> Figure | None:
    learning = analysis.learning_curves(search.results)
    if search.best is None or learning.empty:
        return None
    return curves(learning, analysis.mean_curves(search.results), search.best)


def curves(learning: pd.DataFrame, means: pd.DataFrame, best: int) -> Figure | None:
    question = "Are trials still rising when they end, and were the right ones stopped?"
    rows = learning[learning["role"] == "search"]
    answer = f"{_rising(rows, best)} {_stopped(rows, best)}".strip()
    if not answer:
        return None
    count = rows["trial"].nunique()
    last = rows[rows["is_last"]].sort_values("rating", ascending=False)
    # The best, and others evenly spread over the ranks.
    shown = {*last["trial"].head(MOST_CURVES // 2), *sampled(last, MOST_CURVES // 2)["trial"], best}
    drawn = rows[rows["trial"].isin(shown) & rows["rating"].notna()].assign(thousands=lambda frame: frame["steps"] / 1e3)
    colours = by_kind(drawn, "state", STATES)
    x, y = channel("thousands", title="thousand steps of the trial"), channel("rating", title="rating")
    tip = hover(("trial", "trial"), ("thousands", "thousand steps"), ("rating", "rating"), ("state", "state"))
    layers = [
        layer(
            drawn, {"type": "line", "strokeWidth": 1.3, "opacity": 0.65, "point": {"size": 14}}, x=x, y=y, color=colours,
            detail=channel("trial", "nominal"), tooltip=tip,
        )
    ]  # fmt: skip
    winner = drawn[drawn["trial"] == best]
    if len(winner):
        layers.append(layer(winner, {"type": "line", "strokeWidth": 3.5, "color": colour("ink")}, x=x, y=y, tooltip=tip))
    panels = [Panel(chart(*layers), f"All trials; trial {best}, the best, is thick" if len(winner) else "All trials")]
    if len(means):
        panels.append(Panel(_means(means), "Trained again with fresh seeds: mean and 95 % interval"))
    shares = {trial: _late_share(each) for trial, each in rows.groupby("trial")}
    table = last.assign(share=last["trial"].map(shares))
    table = table[["trial", "state", "steps", "rating", "share"]].rename(
        columns={"rating": "last rating", "share": "part of its gain in its last quarter"}
    )
    omitted = (
        f"Shown are {len(shown):,} of {count:,} trials: the best half of these, and others of all ranks."
        if count > len(shown)
        else ""
    )
    return Figure("learning-curves", question, answer, tuple(panels), table, omitted)


def _means(means: pd.DataFrame) -> dict[str, object]:
    named = ("trial " + means["confirms"].astype(str)).where(means["role"] != "default", "default")
    drawn = means.assign(thousands=means["steps"] / 1e3, name=named)
    names = list(dict.fromkeys(drawn["name"]))
    order = ["c1", "c3", "c4", "c5", "c6"]
    taken = ["c2" if name == "default" else order[place % len(order)] for place, name in enumerate(names)]
    colours = coloured("name", names, taken)
    x = channel("thousands", title="thousand steps")
    band = layer(
        drawn[drawn["low"].notna()], {"type": "area", "opacity": 0.2}, x=x, y=channel("low", title="rating"),
        y2={"field": "high"}, color=colours,
    )  # fmt: skip
    lines = layer(
        drawn, {"type": "line", "point": {"size": 20}}, x=x, y=channel("mean", title="rating"), color=colours,
        tooltip=hover(("name", "what"), ("mean", "mean"), ("low", "low"), ("high", "high"), ("runs", "runs")),
    )  # fmt: skip
    return chart(band, lines, height=220)


def _late_share(curve: pd.DataFrame) -> float:
    """Part of a trial's gain that its last quarter brought; NaN without a gain or with fewer than four evaluations."""
    if len(curve) < 4:
        return float("nan")
    values, steps = curve["rating"].to_numpy(), curve["steps"].to_numpy()
    before = values[steps <= steps[-1] * 0.75]
    gain = values[-1] - values[0]
    return float((values[-1] - before[-1]) / gain) if len(before) and gain > 0.0 else float("nan")


def _rising(rows: pd.DataFrame, best: int) -> str:
    winner = rows[rows["trial"] == best]
    share = _late_share(winner)
    if share != share:
        return ""
    if share >= _RISING:
        told = f"{percent(share)} of its gain came in its last quarter"
        return f"The best, trial {best}, was still rising: {told}, so more --steps may pay."
    if share <= -_RISING:
        return f"The best, trial {best}, fell in its last quarter, so it was trained long enough."
    return f"The best, trial {best}, no longer rose in its last quarter."


def _stopped(rows: pd.DataFrame, best: int) -> str:
    """Whether trials that were stopped were behind the later winner at the same evaluation."""
    ended = rows[rows["is_last"] & rows["state"].isin(["pruned", "frozen"]) & (rows["trial"] != best)]
    if ended.empty:
        return ""
    winner = rows[rows["trial"] == best].set_index("rung")["rating"]
    at = ended["rung"].map(winner)
    compared = at.notna()
    if not compared.any():
        return ""
    # A trial that misses a requirement has no rating, and counts as behind.
    behind = int((ended["rating"].isna() | (ended["rating"] < at))[compared].sum())
    total = int(compared.sum())
    return (
        f"Of {counted(total, 'trial')} stopped or frozen, {behind:,} had a lower rating than trial {best} after as many steps."
    )
