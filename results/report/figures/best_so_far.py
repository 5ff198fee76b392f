"""The best rating over time and over steps, and what it can be compared with."""

import numpy as np
import pandas as pd

from results import analysis
from results.analysis.judged import CONTENDER
from results.analysis.searched import searched
from results.fresh import DEFAULT
from results.report.charts import CONTROLLERS, Figure, Panel, channel, chart, coloured, hover, layer, sampled
from results.report.subjects import Search
from results.report.words import duration, percent, score

PLACES = {"experiment": 11}  # in the sections of these kinds
LEAST_TRIALS = 5  # for an answer about the budget
WORTH = 0.1  # part of the whole gain in the last third of the time, from which on more time is worth it
VISIBLE = 0.02  # part of the whole gain that counts as a rise of the best
SURELY_NOT = "Probably not"  # begins an answer
SURE_WAIT = 2.0  # a search has ended rising if it waits this many times as long as it ever waited for a rise
MOST_POINTS = 400  # of the line of the best so far
_KINDS = {kind: name for kind, name in CONTROLLERS.items() if kind != CONTENDER}  # their colours


def figure(search: Search) -> Figure | None:
    results, judged = search.results, search.judgement
    best = analysis.best_so_far(results)
    known = best[best["best"].notna()]
    # A few trials do not tell.
    if known.empty or len(search.table(searched)) < LEAST_TRIALS:
        return None
    return best_so_far(known, analysis.references(results, judged))


def best_so_far(known: pd.DataFrame, references: pd.DataFrame) -> Figure:
    question = "Is a larger budget worth it?"
    lines = _references(references)
    minutes = known.assign(minutes=known["elapsed_seconds"] / 60.0, millions=known["total_steps"] / 1e6)
    names = ["best so far", *lines["kind"].unique()]
    colours = coloured("kind", names, ["c1", *(_KINDS[name] for name in names[1:])])
    line = sampled(minutes.assign(kind="best so far"), MOST_POINTS)
    panels = []
    for column, title, heading in (
        ("minutes", "minutes in which a trial ran", "Over time"), ("millions", "million steps of all trials", "Over steps"),
    ):  # fmt: skip
        end = float(line[column].max())
        flat = pd.concat([lines.assign(**{column: 0.0}), lines.assign(**{column: end})]) if len(lines) else lines
        drawn = layer(
            line, {"type": "line", "interpolate": "step-after"}, x=channel(column, title=title, scale={"nice": False}),
            y=channel("best", title="rating", scale={"zero": False, "padding": 8}), color=colours,
        )  # fmt: skip
        points = layer(
            line[line["is_new_best"]], {"type": "point", "filled": True, "size": 40}, x=channel(column, title=title),
            y=channel("best", title="rating"), color=colours,
            tooltip=hover(("best", "rating"), ("best_trial", "trial"), (column, title)),
        )  # fmt: skip
        others = [
            layer(
                flat, {"type": "line", "strokeDash": [5, 3], "strokeWidth": 1.5}, x=channel(column), y=channel("score"),
                color=colours, detail=channel("name", "nominal"), tooltip=hover(("name", "what"), ("score", "score")),
            )
        ] if len(lines) else []  # fmt: skip
        panels.append(Panel(chart(*others, drawn, points), heading))
    table = known[known["is_new_best"]][["elapsed_seconds", "total_steps", "best_trial", "best"]]
    table = table.assign(elapsed_seconds=[duration(value) for value in table["elapsed_seconds"]])
    table = table.rename(
        columns={
            "elapsed_seconds": "after",
            "total_steps": "steps of all trials",
            "best_trial": "new best trial",
            "best": "rating",
        }
    )
    if len(lines):
        extra = lines.assign(after=lines["name"])[["after", "score"]].rename(columns={"score": "rating"})
        table = pd.concat([table, extra], ignore_index=True)
    tests = " Lines of a judgement are of the test split." if len(lines) and (lines["split"] == "test").any() else ""
    falls = f" {fallen(known['best'])}".rstrip()
    thinned = f" The chart has {len(line):,} of {len(minutes):,} evaluations." if len(line) < len(minutes) else ""
    note = (
        "Budget is the time in which trials ran, and with it the number of trials. Whether each trial should have more steps "
        "is the question on rising trials below. A dot is a new best trial."
        f"{falls}{tests}{thinned}"
    )
    return Figure("best-so-far", question, worth(known, references), tuple(panels), table, note)


def fallen(best: pd.Series) -> str:
    return "The line falls where the leading trial does worse after more training." if (best.diff() < 0.0).any() else ""


def _references(references: pd.DataFrame) -> pd.DataFrame:
    known = references[references["score"].notna() & references["kind"].isin(_KINDS)]
    best = known.sort_values("score", ascending=False).drop_duplicates("kind")
    return best.sort_index()


def worth(known: pd.DataFrame, references: pd.DataFrame) -> str:
    """Whether a larger budget is worth it: whether the last third of the time paid.

    Args:
        known: rows of `analysis.best_so_far` with a best.
        references: see `analysis.references`.
    """
    time, values = known["elapsed_seconds"].to_numpy(float), known["best"].to_numpy(float)
    whole = float(time[-1])
    before = values[np.searchsorted(time, whole * 2.0 / 3.0, side="right") - 1] if time[0] <= whole * 2.0 / 3.0 else values[0]
    gain, late = values[-1] - values[0], values[-1] - before
    default = references[(references["kind"] == DEFAULT) & references["score"].notna()]
    default_rating = float(default["score"].iloc[0]) if len(default) else -np.inf
    if values[-1] <= default_rating:
        return f"Perhaps: after {duration(whole)} no trial is better than the default with {score(default_rating)}."
    if gain > 0.0 and late / gain >= WORTH:
        told = f"the last third of {duration(whole)} raised the best from {score(before)} to {score(values[-1])}"
        return (
            f"Probably yes: {told}, {percent(late / gain)} of what the search gained after its first score, {score(values[0])}."
        )
    wait, longest = _waits(time, values)
    since = f"the best, {score(values[-1])}, has hardly risen in the last {duration(wait)} of {duration(whole)} of trials"
    if wait < SURE_WAIT * longest:
        return f"Open: {since}, but it has waited {duration(longest)} before, and then rose again."
    earlier = f"; no earlier wait was longer than {duration(longest)}" if longest > 0.0 else ""
    return f"{SURELY_NOT}: {since}{earlier}."


def _waits(time: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Seconds since the best last rose visibly, and the longest time between two such rises before."""
    highest = np.maximum.accumulate(values)
    rises, last = [0], highest[0]
    for place, value in enumerate(highest):
        if value - last > VISIBLE * (highest[-1] - highest[0]):
            rises.append(place)
            last = value
    at = time[rises]
    return float(time[-1] - at[-1]), float(np.diff(at).max(initial=0.0))
