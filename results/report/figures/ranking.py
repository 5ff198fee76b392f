"""Contenders, rules and bounds of a judgement, ranked as its verdict does."""

import math
from typing import Any

import pandas as pd

from results import analysis
from results.analysis.judged import CONTENDER, MPC, NOT_LEARNED, RULE, Verdict
from results.judgement import EXACT_MPC, GOAL, OBJECTIVE, bound_of
from results.report.charts import CONTROLLERS, MOST_BARS, Figure, Panel, by_kind, channel, chart, colour, ends, hover, layer
from results.report.subjects import Judged
from results.report.words import listed, number, percent, score

PLACES = {"judgement": 1}  # in the sections of these kinds


def figure(judged: Judged) -> Figure | None:
    if judged.verdict is None:
        return None
    return ranking(analysis.judged_runs(judged.results), judged.verdict, judged.results.of_environment)


def ranking(runs: pd.DataFrame, verdict: Verdict, of_environment: bool = False) -> Figure:
    question = f"Which controller is best {'in episodes' if of_environment else 'on hours'} that no training used?"
    aim = verdict.aim
    measure = aim.get("objective", "score")
    by_score = measure == "score"
    table = _ranked(runs, verdict)
    trained = table[table["kind"] == CONTENDER]
    # Model predictive control with the exact future is no rival: no controller knows it.
    rivals = table[
        (table["kind"].isin([RULE, MPC]) | table["contender"].isin(NOT_LEARNED))
        & table["comparable"]
        & (table["contender"] != EXACT_MPC)
    ]
    bound = table[table["contender"] == bound_of(table["contender"])] if by_score else table.head(0)
    if trained.empty:
        answer = "It cannot be said: no trained policy was judged."
    else:
        top = _leader(trained)
        shown = score if by_score else number
        between = f" ({shown(top.low)} to {shown(top.high)})" if top.low == top.low else ""
        answer = f"{top.contender} has {shown(top.value)}{between}{'' if by_score else f' of {measure}'}"
        if len(rivals):
            rival = rivals.iloc[0]
            low, high = _together(runs, trained, top, by_score)
            is_sure = low > rival.value or high < rival.value
            # Where less is better, as of a bill, being below is good: the word has to say so.
            is_better = (top.value < rival.value) == ("less is better" in measure)
            side = ("above" if is_better else "below") if by_score else "better than" if is_better else "worse than"
            answer += f", {'surely ' if is_sure else ''}{side} the best without training, {rival.contender}, with "
            answer += shown(rival.value) + ("" if is_sure else ", though not surely")
        if len(bound) and bound["value"].iloc[0] > 0:
            answer += f"; that is {percent(top.value / bound['value'].iloc[0])} of the bound"
        answer += "."
        if not top.comparable:
            answer = f"None that was trained is comparable: each misses what the verdict requires. {answer}"
    drawn = table.head(MOST_BARS)
    y = channel("contender", "nominal", sort=None, axis={"labelLimit": 230})
    colours = by_kind(drawn, "kind", CONTROLLERS)
    bars = layer(
        drawn, {"type": "bar", "height": 14}, y=y, x=channel("value", title=measure), color=colours,
        tooltip=hover(("contender", "contender"), ("value", measure), ("low", "from"), ("high", "to"), ("runs", "runs")),
    )  # fmt: skip
    # Vega warns of a layer without a row.
    layers = [bars, *([ends(drawn, y, measure)] if drawn["low"].notna().any() else [])]
    several = runs[runs["contender"].isin(drawn.loc[drawn["runs"] > 1, "contender"])]
    if by_score and len(several):
        layers.append(
            layer(
                several, {"type": "point", "filled": True, "size": 22, "color": colour("ink")}, y=y,
                x=channel("score", title=measure),
                tooltip=hover(("contender", "contender"), ("seed", "seed"), ("score", "score")),
            )
        )  # fmt: skip
    notes = ["Lines are Student's 95 % intervals over seeds" + (", points are runs." if by_score else ".")]
    if not by_score:
        notes.append(f"The order is that of the verdict, by {measure}.")
    elif not of_environment:
        notes.append("0 is the uncontrolled site.")
    if "requirements" in aim:
        notes.append(f"Required is {aim['requirements']}.")
    if not table["comparable"].all():
        out = listed(list(table.loc[~table["comparable"], "contender"].head(4)))
        notes.append(f"Not comparable, and so last: {out}.")
    if len(drawn) < len(table):
        notes.append(f"Shown are {len(drawn)} of {len(table)}.")
    told = table[["contender", "kind", "runs", "value", "low", "high"]].rename(
        columns={"value": measure, "low": f"{measure} from", "high": f"{measure} to"}
    )
    if not table["comparable"].all():
        told["comparable"] = table["comparable"]
    panels = (Panel(chart(*layers, height=24 * len(drawn))),)
    return Figure("ranking", question, answer, panels, told, " ".join(notes))


def _leader(trained: pd.DataFrame) -> Any:
    """The best of the comparable contenders with the most runs, as of one that was dropped a few lucky runs may be left."""
    comparable = trained[trained["comparable"]] if trained["comparable"].any() else trained
    return comparable[comparable["runs"] == comparable["runs"].max()].iloc[0]


def _together(runs: pd.DataFrame, trained: pd.DataFrame, top: Any, by_score: bool) -> tuple[float, float]:
    """Ends of an interval of the leader's mean, so that those of all that could lead hold together, as in the verdict."""
    from results.statistics import CONFIDENCE, compared_with_value

    leading = trained.loc[(trained["runs"] == top.runs) & (trained["comparable"] == top.comparable), "contender"]
    if top.low != top.low:
        return math.nan, math.nan
    if by_score:
        scores = {name: runs.loc[runs["contender"] == name].sort_values("seed")["score"].to_numpy(float) for name in leading}
        interval = compared_with_value(scores, 0.0)[top.contender]
        return interval.low, interval.high
    from scipy.stats import t

    error = (1.0 - CONFIDENCE) / 2.0
    wider = float(t.ppf(1.0 - error / len(leading), top.runs - 1) / t.ppf(1.0 - error, top.runs - 1))
    return top.value - wider * (top.value - top.low), top.value + wider * (top.high - top.value)


def _ranked(runs: pd.DataFrame, verdict: Verdict) -> pd.DataFrame:
    """A row a controller in the order of the verdict; `value` is of the objective or the score."""
    grouped = runs.groupby("contender", sort=False)
    table = grouped.agg(
        kind=("kind", "first"), runs=("score", "size"), value=("score", "mean"), low=("low", "first"), high=("high", "first")
    )
    contenders = verdict.table.set_index("contender")
    # What is not in the table was judged after it, and is not known to miss anything.
    known = contenders["comparable"].astype(bool).reindex(table.index, fill_value=True)
    table = table.assign(comparable=known, goal=table["value"])
    if OBJECTIVE in contenders and GOAL in contenders:
        columns = {"value": OBJECTIVE, "low": f"{OBJECTIVE}_low", "high": f"{OBJECTIVE}_high", "goal": GOAL}
        table = table.assign(**{name: contenders[column].reindex(table.index) for name, column in columns.items()})
    table = table[table["value"].notna()].reset_index()
    return table.sort_values(["comparable", "goal"], ascending=False, kind="stable", ignore_index=True, na_position="last")
