"""Changes of emission and bill by contender."""

from typing import Any

import pandas as pd

from common.measure import BASIS, Measure
from results.analysis.judged import NO_CONTROL
from results.judgement import CHANGE, metrics_of
from results.report.charts import CHANGE_AXIS, MOST_BARS, Figure, Panel, channel, chart, coloured, hover, layer
from results.report.subjects import Judged
from results.report.words import percent, uncontrolled, unit_for

PLACES = {"judgement": 2}  # in the sections of these kinds


def figure(judged: Judged) -> Figure | None:
    return amounts(judged.verdict.table) if judged.verdict else None


def amounts(table: pd.DataFrame) -> Figure | None:
    """None where nothing is compared with a site without control, as in an environment."""
    question = f"What does each controller save in {BASIS}?"
    measured = metrics_of(table)
    changes = {name: measure for name, measure in measured.items() if measure.over == CHANGE}
    known = table[table[[*changes]].notna().all(axis=1)]
    if not changes or known.empty:
        return None
    trained = known[known["algorithm"].astype(bool) & known["comparable"]]
    top = (trained if len(trained) else known).iloc[0]
    amount_of = {measure.label: measure for measure in measured.values() if measure.over != CHANGE}
    told, before, has_vehicles = [], "", top["served"] == top["served"]
    for name, change in changes.items():
        does = "lowers" if top[name] <= 0 else "raises"
        named = change.label if does == before else f"{does} {change.label}"
        told.append(f"{named} by {percent(abs(float(top[name])))}{_absolute(top, name, amount_of[change.label])}")
        before = does
    answer = f"{top['contender']} {' and '.join(told)} against {uncontrolled(has_vehicles)}."
    if has_vehicles:
        answer += f" Vehicles get {percent(float(top['served']))} of the energy that can be served."
    drawn = known[~known["contender"].isin(NO_CONTROL)].head(MOST_BARS)
    labels = {name: change.label for name, change in changes.items()}
    long = drawn.melt("contender", [*labels], "what", "change").assign(what=lambda rows: rows["what"].map(labels))
    bars = layer(
        long, {"type": "bar"}, y=channel("contender", "nominal", sort=list(drawn["contender"]), axis={"labelLimit": 230}),
        yOffset=channel("what", "nominal", sort=[*labels.values()]),
        x=channel("change", title="change against the uncontrolled site", axis=dict(CHANGE_AXIS)),
        color=coloured("what", [*labels.values()], ("c3", "c1")),
        tooltip=hover(("contender", "contender"), ("what", "of"), ("change", "change", "+.1%")),
    )  # fmt: skip
    shown = pd.DataFrame({"controller": known["contender"]})
    for name, measure in measured.items():
        if name in ("score", "bound_share"):
            continue
        if measure.is_share:
            title = f"{measure.label}, change" if measure.over == CHANGE else measure.label
            shown[title] = [percent(value) if value == value else "" for value in known[name]]
        else:
            size = unit_for(measure.shown_unit, float(known[name].abs().max()))
            shown[f"{measure.label}, {size.unit}".removesuffix(", ")] = known[name] * size.factor
    return Figure("amounts", question, answer, (Panel(chart(bars, height=max(40, 30 * len(drawn)))),), shown)


def _absolute(row: Any, change: str, amount: Measure) -> str:
    """A change as an amount a year, from the amount that is left and the part by which it changed."""
    left, part = float(row[amount.name]), float(row[change])
    if not (left == left and part > -1.0):
        return ""
    size = abs(left / (1.0 + part) - left)
    return f" ({unit_for(amount.shown_unit, size)(size)} a year)"
