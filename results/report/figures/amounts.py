"""Changes of emission and bill by contender."""

from typing import Any

import pandas as pd

from common.measure import BASIS
from results.judgement import CHANGE, metrics_of
from results.report.charts import CHANGE_AXIS, MOST_CONTROLLERS, Figure, Panel, channel, chart, coloured, hover, layer
from results.report.subjects import Judged
from results.report.words import UNCONTROLLED, percent, unit_for

PLACES = {"judgement": 2}  # in the sections of these kinds


def figure(judged: Judged) -> Figure | None:
    return amounts(judged.verdict.table) if judged.verdict else None


def amounts(table: pd.DataFrame) -> Figure:
    question = f"What does each controller save in {BASIS}?"
    known = table[table["co2_change"].notna() & table["bill_change"].notna()]
    if known.empty:
        return Figure("amounts", question, "It cannot be said: nothing was judged.")
    trained = known[known["algorithm"].astype(bool) & known["comparable"]]
    top = (trained if len(trained) else known).iloc[0]
    verb = {"co2_change": "CO2", "bill_change": "the bill"}
    told, before = [], ""
    for name, what in verb.items():
        does = "lowers" if top[name] <= 0 else "raises"
        named = what if does == before else f"{does} {what}"
        told.append(f"{named} by {percent(abs(float(top[name])))}{_absolute(top, name)}")
        before = does
    answer = f"{top['contender']} {' and '.join(told)} against {UNCONTROLLED}."
    drawn = known[~known["contender"].isin(["uncontrolled", "no PV, no battery"])].head(MOST_CONTROLLERS)
    long = drawn.melt("contender", ["co2_change", "bill_change"], "what", "change")
    long["what"] = long["what"].map({"co2_change": "CO2", "bill_change": "bill"})
    bars = layer(
        long, {"type": "bar"}, y=channel("contender", "nominal", sort=list(drawn["contender"]), axis={"labelLimit": 230}),
        yOffset=channel("what", "nominal", sort=["CO2", "bill"]),
        x=channel("change", title="change against the uncontrolled site", axis=dict(CHANGE_AXIS)),
        color=coloured("what", ["CO2", "bill"], ("c3", "c1")),
        tooltip=[*hover(("contender", "contender"), ("what", "of")), {"field": "change", "title": "change", "format": "+.1%"}],
    )  # fmt: skip
    shown = pd.DataFrame({"controller": known["contender"]})
    for name, measure in metrics_of(table).items():
        if name in ("score", "bound_share"):
            continue
        if measure.is_share:
            title = f"{measure.label}, change" if measure.over == CHANGE else measure.label
            shown[title] = [percent(value) if value == value else "" for value in known[name]]
        else:
            size = unit_for(measure.shown_unit, float(known[name].abs().max()))
            shown[f"{measure.label}, {size.unit}".removesuffix(", ")] = known[name] * size.factor
    note = "The bill is in the tariff's currency."
    return Figure("amounts", question, answer, (Panel(chart(bars, height=max(40, 30 * len(drawn)))),), shown, note)


def _absolute(row: Any, name: str) -> str:
    """A change as an amount a year: the table has what is left, and its part."""
    column, unit = {"co2_change": ("co2_kg", "kg"), "bill_change": ("bill", "")}[name]
    left, change = float(row[column]), float(row[name])
    if not (left == left and change > -1.0):
        return ""
    size = abs(left / (1.0 + change) - left)
    money = "" if unit else " in the tariff's currency"
    return f" ({unit_for(unit, size)(size)} a year{money})"
