"""Good trials as lines over the hyperparameters."""

import pandas as pd

from results import analysis
from results.report.charts import AMOUNTS, Figure, Panel, channel, chart, hover, important_first, layer
from results.report.subjects import Search
from results.report.words import counted, first_of, listed, plain

PLACES = {"experiment": 9}  # in the sections of these kinds
MOST_LINES = 40  # of parallel coordinates
MOST_AXES = 10
GOOD = 0.1  # part of the trials that count as good
LEAST_GOOD = 5
_RAMP = {"scheme": {"name": AMOUNTS, "extent": [0.3, 0.8]}}  # without the ends, which light or dark paper hides
_CLOSE = 0.35  # part of a range within which good trials agree


def figure(search: Search) -> Figure:
    return parallel(search.table(analysis.effects), search.order)


def parallel(effects: pd.DataFrame, order: list[str]) -> Figure:
    question = "What do the good trials have in common?"
    effects = effects[effects["rating"].notna()]
    ranked = effects.drop_duplicates("trial").sort_values("rating", ascending=False)
    count = len(ranked)
    if count < 2 * LEAST_GOOD:
        return Figure(
            "parallel", question, f"It cannot be said from {counted(count, 'trial')}; it takes at least {2 * LEAST_GOOD}."
        )
    size = min(max(LEAST_GOOD, round(GOOD * count)), MOST_LINES)
    good = set(ranked["trial"].head(size))
    names = important_first(effects, order)
    shared, narrow = [], []
    for name in names:
        own = effects[effects["hyperparameter"] == name]
        own = own[own["acts"]]
        top = own[own["trial"].isin(good)]
        if len(top) < LEAST_GOOD:
            continue
        if (own["choices"] > 0).any():
            label = top["label"].iloc[0]
            if (top["label"] == label).all() and (own["label"] == label).mean() < 0.75:
                shared.append(f"{name}={label}")
        elif (span := float(top["position"].max() - top["position"].min())) < _CLOSE:
            values = sorted(top["value"].dropna())
            if values and float(own["position"].quantile(0.9) - own["position"].quantile(0.1)) > 2 * span:
                same = values[0] == values[-1]
                narrow.append(
                    f"{name}={plain(values[0])}" if same else f"{name} from {plain(values[0])} to {plain(values[-1])}"
                )
    common = [*shared, *narrow]
    answer = (
        f"The best {size} of {count:,} trials all have {listed(common[:4])}."
        if common
        else f"Nothing that the others lack: the best {size} of {count:,} trials are spread over all ranges."
    )
    axes = names[:MOST_AXES]
    drawn = effects[effects["trial"].isin(good) & effects["hyperparameter"].isin(axes)]
    drawn = drawn.assign(position=drawn["position"].clip(0.0, 1.0))
    drawn = drawn[drawn["position"].notna()]
    lines = layer(
        drawn, {"type": "line", "opacity": 0.8, "strokeWidth": 1.8, "point": {"size": 25}},
        x=channel("hyperparameter", "nominal", sort=axes, axis={"labelAngle": -35, "labelLimit": 160, "labelOverlap": False}),
        y=channel("position", title="place in the range", axis={"format": ".0%"}),
        color=channel("rating", title="rating", scale=_RAMP, legend=None), detail=channel("trial", "nominal"),
        tooltip=hover(("trial", "trial"), ("hyperparameter", "hyperparameter"), ("label", "value"), ("rating", "rating")),
    )  # fmt: skip
    winner = drawn[drawn["is_best"]]
    thick = [
        layer(
            winner, {"type": "line", "strokeWidth": 4}, x=channel("hyperparameter", "nominal", sort=axes),
            y=channel("position"), color=channel("rating", scale=_RAMP, legend=None),
        )
    ] if len(winner) else []  # fmt: skip
    table = drawn.pivot_table(index=["trial", "rating"], columns="hyperparameter", values="label", aggfunc="first")
    table = table[[name for name in axes if name in table]].reset_index().sort_values("rating", ascending=False)
    table.columns.name = None
    omitted = first_of(len(axes), len(names), "hyperparameters")
    note = (
        "A line is a trial, the yellower the better, and the thick one is the best; 0 % and 100 % are the ends of a range."
        f"{omitted}"
    )
    return Figure("parallel", question, answer, (Panel(chart(lines, *thick, height=280)),), table, note)
