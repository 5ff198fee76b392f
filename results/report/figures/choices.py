"""Figures of hyperparameters: which matter, where the good ones lie, and what was not tried."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from results.experiment_file import Range
from results.report.charts import channel, chart, coloured, hover, layer, sampled
from results.report.colours import AMOUNTS, colour
from results.report.figure import Figure, Panel
from results.report.rows import each
from results.report.words import counted, listed, percent, plain

if TYPE_CHECKING:
    import pandas as pd

LEAST_TRIALS = 8  # for importances; see `results.analysis.importance`
MOST_SLICES = 12  # panels
MOST_POINTS = 300  # of a slice
MOST_LINES = 40  # of parallel coordinates
MOST_AXES = 10
GOOD = 0.1  # part of the trials that count as good
LEAST_GOOD = 5
_SURENESS = {"surely": "c1", "perhaps": "c5", "as by chance": "grey"}  # that a hyperparameter matters
_MOST_SETTLED = 5  # hyperparameters that a note names
_RAMP = {"scheme": {"name": AMOUNTS, "extent": [0.3, 0.8]}}  # without the ends, which light or dark paper hides
_CLOSE = 0.35  # part of a range within which good trials agree
_BEYOND = 0.25  # how far beyond the ends of a range a start is drawn, as a part of it
_APART = 0.28  # of two ticks, as a part of the axis
_LONG = 6  # characters of a value that are read at once


def importance(found: pd.DataFrame, trials: int, settled: pd.DataFrame | None = None, has_changes: bool = False) -> Figure:
    """Which hyperparameters tell good trials from others.

    Args:
        found: of `results.analysis.importance`.
        trials: how many were rated.
        settled: of `results.analysis.ped_anova.settled`.
        has_changes: whether the page shows the changes from the default to the best.
    """
    question = "Which hyperparameters matter?"
    if found.empty:
        why = f"it takes at least {LEAST_TRIALS}" if trials < LEAST_TRIALS else "their ratings or values do not differ enough"
        changed = " What led from the default to the best is below, change by change." if has_changes else ""
        return Figure("importance", question, f"It cannot be said from {counted(trials, 'trial')}: {why}.{changed}")
    top = found.iloc[0]
    some = found[found["beyond_chance"]]
    sure = some[some["low"] > 0.0]
    count = int(top["trials"])
    if len(sure):
        first = sure.iloc[0]
        others = list(sure["hyperparameter"].iloc[1:4])
        also = f"; {listed(others)} {'matters' if len(others) == 1 else 'matter'} too" if others else ""
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
    else:
        answer = f"None surely: with {counted(count, 'trial')} no importance exceeds what chance alone gives."
    drawn = found.head(20)
    y = channel("hyperparameter", "nominal", sort=None, axis={"labelLimit": 170})
    drawn = drawn.assign(
        kind=[
            "surely" if beyond and low > 0.0 else "perhaps" if beyond else "as by chance"
            for beyond, low in zip(drawn["beyond_chance"], drawn["low"], strict=True)
        ]
    )
    kinds = [kind for kind in _SURENESS if (drawn["kind"] == kind).any()]
    bars = layer(
        drawn, {"type": "bar", "height": 14}, y=y, x=channel("importance", title="importance", axis={"format": ".0%"}),
        color=coloured("kind", kinds, [_SURENESS[kind] for kind in kinds]),
        tooltip=[*hover(("hyperparameter", "hyperparameter"), ("kind", "it is")), *_parts("importance", "low", "high")],
    )  # fmt: skip
    ends = layer(
        drawn, {"type": "rule", "color": colour("ink"), "strokeWidth": 1.5}, y=y, x=channel("low"), x2={"field": "high"}
    )
    table = found[["hyperparameter", "importance", "low", "high", "divergence", "chance", "beyond_chance"]]
    table = table.assign(**{name: [percent(value) for value in table[name]] for name in ("importance", "low", "high")})
    table = table.rename(columns={"chance": "divergence by chance", "beyond_chance": "beyond chance"})
    note = (
        "Importance is how much the values of the best trials differ from those of all trials, less what chance gives "
        "(PED-ANOVA). Lines are 95 % intervals. One that starts at 0 leaves open whether the hyperparameter matters."
        + _first(len(drawn), len(found), "hyperparameters")
        + _settled(settled)
    )
    return Figure("importance", question, answer, (Panel(chart(bars, ends, height=22 * len(drawn))),), table, note)


def _settled(settled: pd.DataFrame | None) -> str:
    """Which hyperparameters hardly varied: their effect cannot be seen."""
    if settled is None or settled.empty:
        return ""
    told = [f"{row.hyperparameter} ({row.trials:,} of {counted(row.of, 'trial')} {row.value})" for row in each(settled)]
    more = f" and {len(told) - _MOST_SETTLED} more" if len(told) > _MOST_SETTLED else ""
    return f" Hardly varied: {listed(told[:_MOST_SETTLED])}{more}; what a search settles early looks unimportant here."


def slices(effects: pd.DataFrame, order: list[str]) -> Figure:
    """Rating over each hyperparameter, with the ends of its range.

    Args:
        effects: of `results.analysis.effects`.
        order: hyperparameters, the important ones first.
    """
    question = "Is the best at an edge of the search?"
    effects = effects[effects["rating"].notna()]
    if effects.empty:
        return Figure("slices", question, "It cannot be said: no trial was rated.")
    winner = effects[effects["is_best"]]
    edges = winner[winner["at_edge"] != ""]
    if winner.empty:
        answer = "It cannot be said: no trial has won."
    elif edges.empty:
        answer = f"No: trial {int(winner['trial'].iloc[0])}, the best, lies within all {counted(len(winner), 'range')}."
    else:
        told = [f"{row.hyperparameter}={_short(row.label)} ({row.at_edge} end)" for row in each(edges)]
        more = f" and {len(told) - 4} more" if len(told) > 4 else ""
        answer = (
            f"Yes: trial {int(winner['trial'].iloc[0])}, the best, has {listed(told[:4])}{more}; "
            "a wider range (--space) may hold a better one."
        )
    names = ordered(effects, order)
    panels = tuple(Panel(_slice(effects[effects["hyperparameter"] == name]), name) for name in names[:MOST_SLICES])
    table = winner.set_index("hyperparameter").reindex(names).dropna(subset=["trial"]).reset_index()
    table = table.assign(low=[_bound(value) for value in table["low"]], high=[_bound(value) for value in table["high"]])
    table = table[["hyperparameter", "label", "low", "high", "at_edge"]].rename(
        columns={"label": "value of the best", "low": "searched from", "high": "to", "at_edge": "at an end"}
    )
    trials = effects["trial"].nunique()
    omitted = _first(len(panels), len(names), "hyperparameters, the important ones first")
    thin = f" Each chart has {MOST_POINTS:,} of {trials:,} trials." if trials > MOST_POINTS else ""
    note = (
        "Each point is a trial, and the ring is the best. Dashed lines are the ends of the range; a given start may lie "
        "beyond them. Values stand on the scale that "
        f"the search draws from, where equal widths are equally likely.{omitted}{thin}"
    )
    return Figure("slices", question, answer, panels, table, note)


def ordered(effects: pd.DataFrame, order: list[str]) -> list[str]:
    """Hyperparameters that were searched, the important ones first.

    Args:
        effects: of `results.analysis.effects`.
        order: of all or some of them.
    """
    every = list(dict.fromkeys(effects["hyperparameter"]))
    return [*(name for name in order if name in every), *(name for name in every if name not in order)]


def _slice(own: pd.DataFrame) -> dict[str, Any]:
    """One panel of `slices`."""
    first = own.iloc[0]
    is_number = first["choices"] == 0 and own["value"].notna().any()
    drawn = own[own["value"].notna()] if is_number else own
    best = drawn[drawn["is_best"]]
    # The best and the worst stay; between them some of each rank.
    points = sampled(drawn.sort_values("rating"), MOST_POINTS)
    y = channel("rating", title="rating", scale={"zero": False}, axis={"tickCount": 4})
    if is_number:
        # The scale of the search: equal stretches were as likely to be drawn. A start may lie far beyond its ends.
        drawn = drawn.assign(position=drawn["position"].clip(-_BEYOND, 1.0 + _BEYOND))
        points, best = points.assign(position=points["position"].clip(-_BEYOND, 1.0 + _BEYOND)), drawn[drawn["is_best"]]
        ends = [min(0.0, float(drawn["position"].min())), max(1.0, float(drawn["position"].max()))]
        x = channel("position", scale={"domain": ends, "nice": False, "padding": 6}, axis=_ticks(first, drawn["value"]))
    else:
        x = channel("label", "nominal", axis={"labelAngle": 0, "labelLimit": 70})
    tip = hover(("trial", "trial"), ("label", "value"), ("rating", "rating"), ("state", "state"))
    layers = [
        layer(points, {"type": "point", "filled": True, "size": 22, "opacity": 0.6}, x=x, y=y, tooltip=tip),
        layer(best, {"type": "point", "size": 130, "color": colour("c2"), "strokeWidth": 2.5}, x=x, y=y, tooltip=tip),
    ]
    if is_number:
        import pandas as pd

        layers.insert(0, layer(pd.DataFrame({"position": [0.0, 1.0]}), {"type": "rule", "strokeDash": [4, 3]}, x=x))
    return chart(*layers, height=150)


def _ticks(own: pd.Series, values: pd.Series) -> dict[str, Any]:
    """Axis of a range on its own scale: both ends, and round values between that are far enough apart for their texts.

    Args:
        own: row of `results.analysis.effects`, for the range's `low`, `high`, `log` and `from_one`.
        values: that were tried.
    """
    scale = Range("", float(own["low"]), float(own["high"]), bool(own["log"]), bool(own.get("from_one", False)))
    doubled = all(_is_power_of_two(value) for value in [scale.low, scale.high, *values.dropna()])
    inner = [float(2**power) for power in range(64) if scale.low < 2**power < scale.high] if doubled else _round_values(scale)
    # A range of one value has it in the middle.
    taken = {0.0: scale.low, 1.0: scale.high} if scale.low < scale.high else {0.5: scale.low}
    for place, value in sorted(zip(scale.positions(_column(inner)), inner, strict=True), key=lambda pair: abs(pair[0] - 0.5)):
        if all(abs(place - other) >= _APART for other in taken):
            taken[float(place)] = value
    places = sorted(taken)
    texts = ", ".join(f"'{_tick(taken[place])}'" for place in places)
    return {"values": places, "labelExpr": f"[{texts}][indexof({places}, datum.value)]"}


def _is_power_of_two(value: float) -> bool:
    return value >= 1.0 and math.frexp(value)[0] == 0.5


def _round_values(scale: Range) -> list[float]:
    """Values of one digit within a range; near 1 those of which 1 less the value has one digit."""
    least, most = (1.0 - scale.high, 1.0 - scale.low) if scale.from_one and scale.log else (scale.low, scale.high)
    if scale.log and least > 0.0:
        powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
        found = [digit * 10.0**power for digit in (1, 2, 5) for power in powers]
    else:
        step = 10.0 ** math.floor(math.log10(max(most - least, 1e-300)) - 0.3)
        found = [step * count for count in range(math.ceil(least / step), math.floor(most / step) + 1)]
    found = [value for value in found if least < value < most]
    return [1.0 - value for value in found] if scale.from_one and scale.log else found


def _column(values: list[float]) -> pd.Series:
    import pandas as pd

    return pd.Series(values, dtype=float)


def _tick(value: float) -> str:
    """A value at an axis: at most five digits, and no power of ten between 0.0001 and a million."""
    if 0.0 < abs(value) < 1e-4:
        return f"{value:.2g}".replace("e-0", "e-")
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def parallel(effects: pd.DataFrame, order: list[str]) -> Figure:
    """Good trials as lines over the hyperparameters.

    Args:
        effects: of `results.analysis.effects`.
        order: hyperparameters, the important ones first.
    """
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
    names = ordered(effects, order)
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
    omitted = _first(len(axes), len(names), "hyperparameters")
    note = (
        "A line is a trial, the yellower the better, and the thick one is the best; 0 % and 100 % are the ends of a range."
        f"{omitted}"
    )
    return Figure("parallel", question, answer, (Panel(chart(lines, *thick, height=280)),), table, note)


def coverage(found: pd.DataFrame) -> Figure:
    """How much of each range was tried.

    Args:
        found: of `results.analysis.coverage`.
    """
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
        tooltip=[*hover(("hyperparameter", "hyperparameter"), ("values", "different values")), *_parts("tried", "expected")],
    )  # fmt: skip
    even = layer(drawn, {"type": "tick", "color": colour("c2"), "thickness": 2.5, "size": 14}, y=y, x=channel("expected"))
    table = found[["hyperparameter", "trials", "values", "tried", "expected", "gap_low", "gap_high", "untried"]]
    table = table.assign(
        tried=[percent(value) for value in found["tried"]], expected=[percent(value) for value in found["expected"]]
    )
    table = table.rename(columns={"gap_low": "widest gap from", "gap_high": "to", "expected": "even draws would try"})
    note = "Orange marks: the part that as many random draws would have tried. Parts are of the scale of the search." + _first(
        len(drawn), len(found), "hyperparameters"
    )
    return Figure("coverage", question, answer, (Panel(chart(bars, even, height=20 * len(drawn))),), table, note)


def _bound(value: float) -> str:
    return plain(value) if value == value else ""


def _parts(*names: str) -> list[dict[str, str]]:
    return [{"field": name, "title": name, "format": ".1%"} for name in names]


def _first(shown: int, count: int, what: str) -> str:
    """What a chart leaves out."""
    return f" Shown are {shown} of {count} {what}." if shown < count else ""


def _short(label: str) -> str:
    """The text of a value; of a long number three significant digits."""
    try:
        return plain(float(label)) if len(label) > _LONG else label
    except ValueError:
        return label
