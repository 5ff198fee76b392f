"""Figures of how a search went: the best so far, learning curves, and whether trials could be stopped earlier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.report.charts import channel, chart, coloured, hover, layer, sampled
from results.report.colours import colour
from results.report.figure import Figure, Panel
from results.report.rows import greatest
from results.report.words import counted, duration, interval, number, percent, score

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

LEAST_TRIALS = 5  # for an answer about the budget
WORTH = 0.1  # part of the whole gain in the last third of the time, from which on more time is worth it
VISIBLE = 0.02  # part of the whole gain that counts as a rise of the best
SURE_WAIT = 2.0  # a search has ended rising if it waits this many times as long as it ever waited for a rise
LEAST_RANKED = 8  # trials for an answer about their order; four are in the same order once in 24 cases by chance
MOST_POINTS = 400  # of the line of the best so far
MOST_CURVES = 60
STATES = {"complete": "c3", "frozen": "c1", "pruned": "c4", "running": "c5", "failed": "c2", "oom": "c2"}
_KINDS = {"uncontrolled": "grey", "default": "c2", "rule": "c4", "mpc": "c5", "bound": "c3"}
_RISING = 0.05  # part of a trial's whole gain in the last quarter of its training


def best_so_far(best: pd.DataFrame, references: pd.DataFrame, trials: int) -> Figure:
    """The best rating over time and over steps, and what it can be compared with.

    Args:
        best: of `results.analysis.best_so_far`.
        references: of `results.analysis.references`.
        trials: how many the search has evaluated.
    """
    import pandas as pd

    question = "Is a larger budget worth it?"
    known = best[best["best"].notna()]
    if known.empty:
        return Figure(
            "best-so-far", question, f"It cannot be said from {counted(trials, 'trial')}: none has a score that may win."
        )
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
    note = (
        "Budget is the time in which trials ran, and with it the number of trials. Whether each trial should have more steps "
        "is the question on rising trials below. A dot is a new best trial. The line falls where the leading trial does worse "
        f"after more training.{tests}{_thinned(len(minutes), len(line))}"
    )
    return Figure("best-so-far", question, _worth(known, references, trials), tuple(panels), table, note)


def _references(references: pd.DataFrame) -> pd.DataFrame:
    """Lines to compare with: the best of each kind that the chart names."""
    known = references[references["score"].notna() & references["kind"].isin(_KINDS)]
    best = known.sort_values("score", ascending=False).drop_duplicates("kind")
    return best.sort_index()


def _worth(known: pd.DataFrame, references: pd.DataFrame, trials: int) -> str:
    """Whether the last third of the time paid."""
    if trials < LEAST_TRIALS:
        return f"It cannot be said from {counted(trials, 'trial')}; it takes at least {LEAST_TRIALS}."
    import numpy as np

    time, values = known["elapsed_seconds"].to_numpy(float), known["best"].to_numpy(float)
    whole = float(time[-1])
    before = values[np.searchsorted(time, whole * 2.0 / 3.0, side="right") - 1] if time[0] <= whole * 2.0 / 3.0 else values[0]
    gain, late = values[-1] - values[0], values[-1] - before
    default = references[(references["kind"] == "default") & references["score"].notna()]
    own = float(default["score"].iloc[0]) if len(default) else -np.inf
    if values[-1] <= own:
        return f"Perhaps: after {duration(whole)} no trial is better than the default with {score(own)}."
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
    return f"Probably not: {since}{earlier}."


def _waits(time: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Seconds since the best last rose visibly, and the longest time between two such rises before.

    Args:
        time: of the evaluations, s, shape (evaluations,).
        values: best so far, shape (evaluations,).
    """
    import numpy as np

    highest = np.maximum.accumulate(values)
    rises, last = [0], highest[0]
    for place, value in enumerate(highest):
        if value - last > VISIBLE * (highest[-1] - highest[0]):
            rises.append(place)
            last = value
    at = time[rises]
    return float(time[-1] - at[-1]), float(np.diff(at).max(initial=0.0))


def curves(learning: pd.DataFrame, means: pd.DataFrame, best: int | None) -> Figure:
    """Ratings over training.

    Args:
        learning: of `results.analysis.learning_curves`.
        means: of `results.analysis.mean_curves`.
        best: number of the winner; None without one.
    """
    question = "Are trials still rising when they end, and were the right ones stopped?"
    own = learning[learning["role"] == "search"]
    if own.empty:
        return Figure("learning-curves", question, "It cannot be said: no trial was evaluated.")
    count = own["trial"].nunique()
    last = own[own["is_last"]].sort_values("rating", ascending=False)
    # The best, and others evenly spread over the ranks.
    shown = {*last["trial"].head(MOST_CURVES // 2), *sampled(last, MOST_CURVES // 2)["trial"]} | (
        {best} if best is not None else set()
    )
    drawn = own[own["trial"].isin(shown) & own["rating"].notna()].assign(thousands=lambda frame: frame["steps"] / 1e3)
    names = [state for state in STATES if (drawn["state"] == state).any()]
    colours = coloured("state", names, [STATES[name] for name in names])
    x, y = channel("thousands", title="thousand steps of the trial"), channel("rating", title="rating")
    tip = hover(("trial", "trial"), ("thousands", "thousand steps"), ("rating", "rating"), ("state", "state"))
    layers = [
        layer(
            drawn, {"type": "line", "strokeWidth": 1.3, "opacity": 0.65, "point": {"size": 14}}, x=x, y=y, color=colours,
            detail=channel("trial", "nominal"), tooltip=tip,
        )
    ]  # fmt: skip
    winner = drawn[drawn["trial"] == best] if best is not None else drawn.head(0)
    if len(winner):
        layers.append(layer(winner, {"type": "line", "strokeWidth": 3.5, "color": colour("ink")}, x=x, y=y, tooltip=tip))
    panels = [Panel(chart(*layers), f"All trials; trial {best}, the best, is thick" if len(winner) else "All trials")]
    if len(means):
        panels.append(Panel(_means(means), "Trained again with fresh seeds: mean and 95 % interval"))
    shares = {trial: _late_share(each) for trial, each in own.groupby("trial")}
    table = last.assign(share=last["trial"].map(shares))
    table = table[["trial", "state", "steps", "rating", "share"]].rename(
        columns={"rating": "last rating", "share": "part of its gain in its last quarter"}
    )
    omitted = (
        f"Shown are {len(shown):,} of {count:,} trials: the best half of these, and others of all ranks."
        if count > len(shown)
        else ""
    )
    answer = f"{_rising(own, best)} {_stopped(own, best)}".strip()
    return Figure("learning-curves", question, answer, tuple(panels), table, omitted)


def _means(means: pd.DataFrame) -> dict[str, object]:
    """Mean curves of assignments that were trained again."""
    drawn = means.assign(thousands=means["steps"] / 1e3)
    drawn["name"] = [
        "default" if role == "default" else f"trial {of}" for role, of in zip(means["role"], means["confirms"], strict=True)
    ]
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


def _late_share(own: pd.DataFrame) -> float:
    """Part of a trial's gain that its last quarter brought; NaN without a gain or with fewer than four evaluations."""
    if len(own) < 4:
        return float("nan")
    values, steps = own["rating"].to_numpy(), own["steps"].to_numpy()
    before = values[steps <= steps[-1] * 0.75]
    gain = values[-1] - values[0]
    return float((values[-1] - before[-1]) / gain) if len(before) and gain > 0.0 else float("nan")


def _rising(own: pd.DataFrame, best: int | None) -> str:
    """Whether the best still rose."""
    if best is None:
        return "No trial has won, so it cannot be said which one should be longer."
    winner = own[own["trial"] == best]
    share = _late_share(winner)
    if share != share:
        return f"It cannot be said of trial {best}: {counted(len(winner), 'evaluation')} without a steady gain."
    if share >= _RISING:
        told = f"{percent(share)} of its gain came in its last quarter"
        return f"The best, trial {best}, was still rising: {told}, so more --steps may pay."
    if share <= -_RISING:
        return f"The best, trial {best}, fell in its last quarter, so it was trained long enough."
    return f"The best, trial {best}, no longer rose in its last quarter."


def _stopped(own: pd.DataFrame, best: int | None) -> str:
    """Whether trials that were stopped were behind the later winner at the same evaluation."""
    ended = own[own["is_last"] & own["state"].isin(["pruned", "frozen"]) & (own["trial"] != best)]
    if best is None or ended.empty:
        return ""
    winner = own[own["trial"] == best].set_index("rung")["rating"]
    at = ended["rung"].map(winner)
    compared = at.notna()
    if not compared.any():
        return ""
    # What misses a requirement has no rating, and lies behind.
    behind = int((ended["rating"].isna() | (ended["rating"] < at))[compared].sum())
    total = int(compared.sum())
    verb = "was" if total == 1 else "were"
    return f"Of {counted(total, 'trial')} that {verb} stopped or frozen, {behind:,} lay behind it at the same evaluation."


def rungs(ranks: pd.DataFrame) -> Figure:
    """How early the order of trials tells their order at the end.

    Args:
        ranks: of `results.analysis.rung_ranks`.
    """
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


def _thinned(rows: int, shown: int) -> str:
    return f" The chart has {shown:,} of {rows:,} evaluations." if shown < rows else ""
