"""Rating over each hyperparameter, with the ends of its range."""

import math
from typing import Any

import pandas as pd

from results import analysis
from results.experiment_file import Range
from results.report.charts import Figure, Panel, channel, chart, colour, hover, layer, sampled
from results.report.subjects import Search
from results.report.words import first_of, listed, plain

PLACES = {"experiment": 10}  # in the sections of these kinds
MOST_SLICES = 12  # panels
MOST_POINTS = 300  # of a slice
_BEYOND = 0.25  # how far beyond the ends of a range a start is drawn, as a part of it
_APART = 0.28  # of two ticks, as a part of the axis
_LONG = 6  # characters of a value that are read at once


def figure(search: Search) -> Figure | None:
    effects = search.table(analysis.effects)
    effects = effects[effects["rating"].notna() & effects["acts"]]
    return slices(effects, list(search.table(analysis.importance)["hyperparameter"])) if effects["is_best"].any() else None


def slices(effects: pd.DataFrame, order: list[str]) -> Figure:
    question = "Is the best at an edge of the search?"
    winner = effects[effects["is_best"]]
    edges = winner[winner["at_edge"] != ""]
    if edges.empty:
        answer = f"No: trial {int(winner['trial'].iloc[0])}, the best, is at no end of what was searched."
    else:
        told = [f"{row.hyperparameter}={_short(str(row.label))} ({row.at_edge} end)" for row in edges.itertuples()]
        more = f" and {len(told) - 4} more" if len(told) > 4 else ""
        answer = (
            f"Yes: trial {int(winner['trial'].iloc[0])}, the best, has {listed(told[:4])}{more}; "
            "a wider range (--space), where it is valid, may hold a better one."
        )
    every = list(dict.fromkeys(effects["hyperparameter"]))
    names = [*(name for name in order if name in every), *(name for name in every if name not in order)]
    panels = tuple(Panel(_slice(effects[effects["hyperparameter"] == name]), name) for name in names[:MOST_SLICES])
    table = winner.set_index("hyperparameter").reindex(names).dropna(subset=["trial"]).reset_index()
    table = table.assign(**{end: [plain(value) if value == value else "" for value in table[end]] for end in ("low", "high")})
    table = table[["hyperparameter", "label", "low", "high", "at_edge"]].rename(
        columns={"label": "value of the best", "low": "searched from", "high": "to", "at_edge": "at an end"}
    )
    trials = effects["trial"].nunique()
    omitted = first_of(len(panels), len(names), "hyperparameters, the important ones first")
    thin = f" Each chart has {MOST_POINTS:,} of {trials:,} trials." if trials > MOST_POINTS else ""
    note = (
        "Each point is a trial, and the ring is the best. Dashed lines are the ends of the range; a given start may lie "
        "beyond them. Values stand on the scale that "
        f"the search draws from, where equal widths are equally likely.{omitted}{thin}"
    )
    return Figure("slices", question, answer, panels, table, note)


def _slice(rows: pd.DataFrame) -> dict[str, Any]:
    first = rows.iloc[0]
    is_number = first["choices"] == 0 and rows["value"].notna().any()
    drawn = rows[rows["value"].notna()] if is_number else rows
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
        labels = sorted(rows["label"].unique(), key=_in_order)
        x = channel("label", "nominal", sort=labels, axis={"labelAngle": 0, "labelLimit": 70})
    tip = hover(("trial", "trial"), ("label", "value"), ("rating", "rating"), ("state", "state"))
    layers = [
        layer(points, {"type": "point", "filled": True, "size": 22, "opacity": 0.6}, x=x, y=y, tooltip=tip),
        layer(best, {"type": "point", "size": 130, "color": colour("c2"), "strokeWidth": 2.5}, x=x, y=y, tooltip=tip),
    ]
    if is_number:
        layers.insert(0, layer(pd.DataFrame({"position": [0.0, 1.0]}), {"type": "rule", "strokeDash": [4, 3]}, x=x))
    return chart(*layers, height=150)


def _in_order(label: str) -> tuple[list[float], str]:
    """By the numbers in a text, such as the sizes of layers, else by its letters."""
    return [float(part) for part in label.split(",") if part.replace(".", "", 1).isdigit()], label


def _ticks(row: pd.Series, values: pd.Series) -> dict[str, Any]:
    """Axis of a range on its own scale: both ends, and round values between that are far enough apart for their texts."""
    scale = Range("", float(row["low"]), float(row["high"]), bool(row["log"]), bool(row.get("from_one", False)))
    # The fraction of a power of two is a half.
    doubled = all(value >= 1.0 and math.frexp(value)[0] == 0.5 for value in [scale.low, scale.high, *values.dropna()])
    powers = [2**power for power in range(64) if scale.low < 2**power < scale.high]
    inner = pd.Series(powers if doubled else _round_values(scale), dtype=float)
    # A range of one value has it in the middle.
    taken = {0.0: scale.low, 1.0: scale.high} if scale.low < scale.high else {0.5: scale.low}
    for place, value in sorted(zip(scale.positions(inner), inner, strict=True), key=lambda pair: abs(pair[0] - 0.5)):
        if all(abs(place - other) >= _APART for other in taken):
            taken[float(place)] = value
    places = sorted(taken)
    texts = ", ".join(f"'{_tick(taken[place])}'" for place in places)
    return {"values": places, "labelExpr": f"[{texts}][indexof({places}, datum.value)]"}


def _round_values(scale: Range) -> list[float]:
    """Values of one digit within a range; near 1 those of which 1 less the value has one digit."""
    least, most = (1.0 - scale.high, 1.0 - scale.low) if scale.from_one and scale.log else (scale.low, scale.high)
    if scale.log and least > 0.0:
        powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
        values = [digit * 10.0**power for digit in (1, 2, 5) for power in powers]
    else:
        step = 10.0 ** math.floor(math.log10(max(most - least, 1e-300)) - 0.3)
        values = [step * count for count in range(math.ceil(least / step), math.floor(most / step) + 1)]
    values = [value for value in values if least < value < most]
    return [1.0 - value for value in values] if scale.from_one and scale.log else values


def _tick(value: float) -> str:
    """A value at an axis: at most five digits, and no power of ten between 0.0001 and a million."""
    if 0.0 < abs(value) < 1e-4:
        return f"{value:.2g}".replace("e-0", "e-")
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _short(label: str) -> str:
    """The text of a value; of a long number three significant digits."""
    try:
        return plain(float(label)) if len(label) > _LONG else label
    except ValueError:
        return label
