"""Which hyperparameters tell good trials from others."""

import warnings

import numpy as np
import pandas as pd

from common.texts import counted
from results import analysis
from results.analysis.ped_anova import settled
from results.report.charts import Figure, Panel, by_kind, channel, chart, ends, hover, layer
from results.report.subjects import Search
from results.report.words import first_of, listed, percent

PLACES = {"experiment": 9}  # in the sections of these kinds
_SURENESS = {"surely": "c1", "perhaps": "c5", "as by chance": "grey"}  # that a hyperparameter matters
_MOST_SETTLED = 5  # hyperparameters that a note names


def figure(search: Search) -> Figure | None:
    with warnings.catch_warnings(action="ignore"):
        importances = search.table(analysis.importance)
    return None if importances.empty else importance(importances, settled(search.results))


def importance(importances: pd.DataFrame, fixed: pd.DataFrame | None = None) -> Figure:
    question = "Which hyperparameters matter?"
    top = importances.iloc[0]
    some = importances[importances["beyond_chance"]]
    sure = some[some["low"] > 0.0]
    count = int(top["trials"])
    others = list(sure["hyperparameter"][sure["hyperparameter"] != top.hyperparameter].head(3))
    matter = f"{listed(others)} {'matters' if len(others) == 1 else 'matter'}"
    if len(sure) and top.hyperparameter != sure["hyperparameter"].iloc[0]:
        # The longest bar is what a reader looks at first.
        answer = (
            f"Surely {matter}. {top.hyperparameter} may matter more, {percent(top.importance)} of what sets the best apart, "
            f"but from {counted(count, 'trial')} that can be chance ({percent(top.low)} to {percent(top.high)})."
        )
    elif len(sure):
        first = sure.iloc[0]
        also = f"; {matter} too" if others else ""
        answer = (
            f"{first.hyperparameter} matters most: {percent(first.importance)} of what sets the best apart "
            f"({percent(first.low)} to {percent(first.high)}){also}."
        )
    elif len(some):
        first = some.iloc[0]
        others = list(some["hyperparameter"].iloc[1:3])
        also = f", then {listed(others)}" if others else ""
        answer = (
            f"None surely. Most likely {first.hyperparameter} ({percent(first.importance)} of what sets the best apart){also}; "
            f"but {counted(count, 'trial')} {'are' if count > 1 else 'is'} too few: the part of each may be 0, and that of "
            f"{first.hyperparameter} up to {percent(first.high)}."
        )
        if first.hyperparameter != top.hyperparameter:
            answer += f" The longer bar of {top.hyperparameter} is no more than chance gives."
    else:
        answer = f"None surely: with {counted(count, 'trial')} no importance exceeds what chance alone gives."
    drawn = importances.head(20)
    y = channel("hyperparameter", "nominal", sort=None, axis={"labelLimit": 170})
    beyond = drawn["beyond_chance"]
    drawn = drawn.assign(kind=np.select([beyond & (drawn["low"] > 0.0), beyond], ["surely", "perhaps"], "as by chance"))
    bars = layer(
        drawn, {"type": "bar", "height": 14}, y=y, x=channel("importance", title="importance", axis={"format": ".0%"}),
        color=by_kind(drawn, "kind", _SURENESS),
        tooltip=hover(
            ("hyperparameter", "hyperparameter"), ("kind", "it is"), ("importance", "importance", ".1%"), ("low", "low", ".1%"),
            ("high", "high", ".1%"),
        ),
    )  # fmt: skip
    table = importances[["hyperparameter", "importance", "low", "high", "divergence", "chance", "beyond_chance"]]
    table = table.assign(**{name: [percent(value) for value in table[name]] for name in ("importance", "low", "high")})
    table = table.rename(columns={"chance": "divergence by chance", "beyond_chance": "beyond chance"})
    note = (
        "Importance is how much the values of the best trials differ from those of all trials, less what chance gives "
        "(PED-ANOVA). Lines are 95 % intervals. One that starts at 0 leaves open whether the hyperparameter matters."
        + first_of(len(drawn), len(importances), "hyperparameters")
        + _settled(fixed)
    )
    drawing = chart(bars, ends(drawn, y, width=1.5), height=22 * len(drawn))
    return Figure("importance", question, answer, (Panel(drawing),), table, note)


def _settled(fixed: pd.DataFrame | None) -> str:
    """Which hyperparameters hardly varied: their effect cannot be seen."""
    if fixed is None or fixed.empty:
        return ""
    rows = fixed[["hyperparameter", "value", "trials", "of"]].itertuples(index=False)
    told = [f"{name} ({trials:,} of {counted(acting, 'trial')} {value})" for name, value, trials, acting in rows]
    more = f" and {len(told) - _MOST_SETTLED} more" if len(told) > _MOST_SETTLED else ""
    return f" Hardly varied: {listed(told[:_MOST_SETTLED])}{more}; what a search settles early looks unimportant here."
