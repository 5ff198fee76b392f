"""What figures are made of: colours, pieces of Vega-Lite specifications, and rows of tables.

Categories have the colours of Okabe and Ito (2008), which the colour-blind tell apart. Specifications say `var(--c1)`, so a
page changes its colours without drawing its charts again.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from results.analysis.judged import BOUND, CONTENDER, MPC, RULE, UNCONTROLLED
from results.fresh import DEFAULT
from results.report.words import capital, percent, unit_for

LIGHT: Mapping[str, str] = {
    "paper": "#ffffff",
    "card": "#f6f7f9",
    "ink": "#1a1d21",
    "soft": "#4d555e",
    "line": "#d9dde2",
    "link": "#005a8f",
    "c1": "#0072b2",  # blue
    "c2": "#d55e00",  # vermillion
    "c3": "#00875f",  # green, darkened from #009e73 for small marks on white
    "c4": "#b3568c",  # purple, darkened from #cc79a7
    "c5": "#8a6100",  # orange, darkened from #e69f00
    "c6": "#2f2f2f",  # black
    "grey": "#767c84",
}
DARK: Mapping[str, str] = {
    "paper": "#14171a",
    "card": "#1d2125",
    "ink": "#eceff2",
    "soft": "#b4bcc5",
    "line": "#363c43",
    "link": "#7cc4ef",
    "c1": "#56b4e9",  # sky blue
    "c2": "#ff8a33",  # vermillion, lightened from #d55e00
    "c3": "#1fbf91",  # green, lightened from #009e73
    "c4": "#cc79a7",  # purple
    "c5": "#f0e442",  # yellow
    "c6": "#f5f5f5",  # white for black
    "grey": "#8b939c",
}
_NAME = re.compile(r"var\(--([a-z0-9]+)\)")


def colour(name: str) -> str:
    """How a specification names a colour."""
    if name not in LIGHT:
        raise KeyError(f"no colour {name}: there are {', '.join(LIGHT)}")
    return f"var(--{name})"


def themed(spec: Any, theme: Mapping[str, str]) -> Any:
    """A specification with each colour as its number, for programs that know no names."""
    return json.loads(_NAME.sub(lambda match: theme.get(match[1], match[0]), json.dumps(spec)))


def variables(theme: Mapping[str, str]) -> str:
    """A theme as CSS declarations."""
    return ";".join(f"--{name}:{value}" for name, value in theme.items())


Spec = Mapping[str, Any]  # a Vega-Lite specification with colours of `results.report.charts`


@dataclass(frozen=True)
class Panel:
    """A chart of Vega-Lite, as wide as its place, with a title where a figure has several."""

    spec: Spec
    title: str = ""


@dataclass(frozen=True)
class Figure:
    """A question about the results, and its answer."""

    name: str  # in links and file names: letters and dashes
    question: str  # its heading
    answer: str  # one sentence that is computed from the tables
    panels: tuple[Panel, ...] = ()  # its charts; none where there is nothing to draw
    table: pd.DataFrame | None = None  # the numbers behind it; column names are what a person reads
    note: str = ""  # what was omitted, and how the numbers came about


@dataclass(frozen=True)
class Section:
    """All figures about one experiment, judgement or rollout."""

    title: str  # a name that a person knows
    kind: str  # in words, such as "experiment"
    facts: Mapping[str, str]  # what is known of it at a glance, by heading
    figures: tuple[Figure, ...]  # in the order of reading
    brief: tuple[str, ...] = field(default=())  # names of the figures that the page's first lines repeat
    intro: str = ""  # what a reader has to know first


SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"  # a name, which no program looks up
DIGITS = 5  # significant ones of what is drawn
# An axis of changes or parts, on which zero is 0, not +0 %.
CHANGE_AXIS: Mapping[str, Any] = {"format": "+.0%", "labelExpr": "datum.value === 0 ? '0' : datum.label", "tickCount": 6}
CATEGORIES = ("c1", "c2", "c3", "c4", "c5", "c6")
CONTROLLERS = {CONTENDER: "c1", DEFAULT: "c2", RULE: "c4", MPC: "c5", BOUND: "c3", UNCONTROLLED: "grey"}
MOST_BARS = 30
STATES = {"complete": "c3", "frozen": "c1", "pruned": "c4", "running": "c5", "failed": "c2", "oom": "c2"}  # of trials
HEIGHT = 260  # of a chart, in pixels
BESIDE = 3  # so many charts of a figure stand beside each other
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif"
CONFIG: dict[str, Any] = {
    "background": None,
    # At the right there is room for half of a label, as it is centred on its tick at the chart's end.
    "padding": {"left": 5, "top": 5, "right": 20, "bottom": 5},
    "font": FONT,
    # The page gives each chart its text alternative as a whole.
    "aria": False,
    "view": {"stroke": None},
    "axis": {
        "labelColor": colour("soft"), "titleColor": colour("soft"), "gridColor": colour("line"), "domainColor": colour("grey"),
        "tickColor": colour("grey"), "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "titlePadding": 8,
        "labelLimit": 150, "labelOverlap": "greedy", "labelSeparation": 6, "labelFlush": False,
    },
    "legend": {
        "labelColor": colour("ink"), "titleColor": colour("soft"), "labelFontSize": 12, "titleFontSize": 12,
        "titleFontWeight": "normal", "orient": "top", "labelLimit": 220, "symbolStrokeWidth": 2, "columns": 3,
        "gradientLength": 120, "gradientThickness": 10, "offset": 4,
    },
    "text": {"color": colour("ink"), "fontSize": 12},
    "line": {"strokeWidth": 2, "color": colour("c1")},
    "point": {"color": colour("c1")},
    "bar": {"color": colour("c1")},
    "area": {"color": colour("c1")},
    "rule": {"color": colour("grey")},
    "range": {"category": [colour(name) for name in CATEGORIES]},
}  # fmt: skip


def chart(*layers: dict[str, Any], height: int = HEIGHT) -> dict[str, Any]:
    """A specification that is as wide as its place."""
    for axis in ("x", "y"):
        channels = [each["encoding"][axis] for each in layers if axis in each["encoding"]]
        # A layer without a title would take away that of the others.
        title = next((one["title"] for one in channels if one.get("title")), None)
        for one in channels:
            one["title"] = title
    return {
        "$schema": SCHEMA,
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": CONFIG,
        "layer": list(layers),
    }


def layer(frame: pd.DataFrame, mark: Any, **encoding: Any) -> dict[str, Any]:
    """A layer with data of its own: only the columns that its channels read."""
    used = dict.fromkeys(field for value in encoding.values() for field in _fields(value))
    return {"data": {"values": rows(frame, list(used))}, "mark": mark, "encoding": encoding}


def _fields(value: Any) -> list[str]:
    """Names of the columns that a channel reads, at any depth."""
    if isinstance(value, dict):
        names = [value["field"]] if isinstance(value.get("field"), str) else []
        return names + [name for key, inner in value.items() if key != "field" for name in _fields(inner)]
    return [name for inner in value for name in _fields(inner)] if isinstance(value, list | tuple) else []


def rows(frame: pd.DataFrame, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Rows as JSON has them: numbers with `DIGITS` significant digits, null for what is no number."""
    cells = [[_plain(value) for value in frame[name].tolist()] for name in columns]
    return [dict(zip(columns, row, strict=True)) for row in zip(*cells, strict=True)]


def _plain(value: Any) -> Any:
    if pd.isna(value) or value in (math.inf, -math.inf):
        return None
    if isinstance(value, float):
        short = float(f"{value:.{DIGITS}g}")
        return int(short) if short.is_integer() and abs(short) < 2**53 else short
    return value if isinstance(value, int) else str(value)


def channel(field: str, kind: str = "quantitative", title: str | None = None, **more: Any) -> dict[str, Any]:
    """A channel that reads a column."""
    return {"field": field, "type": kind, "title": title, **more}


def coloured(field: str, names: Sequence[str], colours: Sequence[str] = CATEGORIES, **more: Any) -> dict[str, Any]:
    """A colour for each name, in this order."""
    scale = {"domain": list(names), "range": [colour(name) for name in colours[: len(names)]]}
    return channel(field, "nominal", scale=scale, **more)


@dataclass(frozen=True)
class Savings:
    """Amounts of a policy beside those of the uncontrolled site."""

    lower: list[str]  # in words
    higher: list[str]
    table: pd.DataFrame
    panel: Panel


_NO_CHANGE = 0.0005  # part of an amount, which is shown as +0.0 %


def savings_of(amounts: Sequence[Mapping[str, Any]], policy: str) -> Savings:
    """Amounts beside those of the uncontrolled site.

    Args:
        amounts: each with `name`, `unit`, `own`, `before` (above 0) and `is_yearly`.
        policy: what the table calls it.
    """
    rows, lower, higher = [], list[str](), list[str]()
    for amount in amounts:
        name, now, before = amount["name"], amount["own"], amount["before"]
        change, size = now / before - 1.0, abs(now - before)
        unit = unit_for(amount["unit"], max(now, before))
        row = {"": capital(name), policy: unit(now), "uncontrolled": unit(before), "change": percent(change, sign=True)}
        rows.append({**row, "name": name, "part": change + 1.0})
        of_year = " a year" if amount["is_yearly"] else ""
        told = f"{name} by {percent(abs(change))} ({unit_for(amount['unit'], size)(size)}{of_year})"
        if abs(change) > _NO_CHANGE:
            (lower if change < 0.0 else higher).append(told)
    table = pd.DataFrame(rows)
    return Savings(lower, higher, table.drop(columns=["name", "part"]), Panel(_beside_uncontrolled(table)))


def _beside_uncontrolled(drawn: pd.DataFrame) -> dict[str, Any]:
    """A bar for each `name` with its `part` of the uncontrolled site's amount, and its `change` as a text."""
    part = drawn["part"]
    drawn = drawn.assign(
        change=part - 1.0, direction=["less" if value <= 1.0 + _NO_CHANGE else "more" for value in part], text=drawn["change"],
        end=part.clip(lower=1.0),  # of bar and dashed line, behind which the text stands
    )  # fmt: skip
    y = channel("name", "nominal", sort=None, axis={"labelLimit": 130})
    # Room for the text behind the longest bar.
    ends = [min(0.0, float(part.min())), max(1.0, float(part.max())) * 1.25]
    x = channel(
        "part", title="part of the uncontrolled site's amount", scale={"domain": ends, "nice": False},
        axis={"format": ".0%", "tickCount": 5},
    )  # fmt: skip
    bars = layer(
        drawn, {"type": "bar", "height": 18, "cornerRadiusEnd": 3}, y=y, x=x,
        color=coloured("direction", ["less", "more"], legend=None), tooltip=hover(("name", "of"), ("change", "change", "+.1%")),
    )  # fmt: skip
    mark = {"type": "text", "align": "left", "dx": 6}
    texts = layer(drawn, mark, y=y, x=x | {"field": "end"}, text={"field": "text", "type": "nominal"})
    whole = {"data": {"values": [{}]}, "mark": {"type": "rule", "strokeDash": [4, 3]}, "encoding": {"x": {"datum": 1}}}
    return chart(whole, bars, texts, height=32 * len(drawn))


def by_kind(drawn: pd.DataFrame, field: str, colours: Mapping[str, str]) -> dict[str, Any]:
    """The colours of those names that a column has."""
    names = [name for name in colours if (drawn[field] == name).any()]
    return coloured(field, names, [colours[name] for name in names])


def hover(*columns: tuple[str, ...]) -> list[dict[str, Any]]:
    """What is shown under the pointer: columns, each with its title, and its format where that is not a plain one."""
    return [dict(zip(("field", "title", "format"), column, strict=False)) for column in columns]


def ends(frame: pd.DataFrame, y: Any, title: str | None = None, tone: str = "ink", width: float = 2) -> dict[str, Any]:
    """A line from `low` to `high` in each row that has them."""
    known = frame[frame["low"].notna()]
    mark = {"type": "rule", "strokeWidth": width, "color": colour(tone)}
    return layer(known, mark, y=y, x=channel("low", title=title), x2={"field": "high"})


def sampled(frame: pd.DataFrame, most: int) -> pd.DataFrame:
    """At most so many rows, evenly spread, with the first and the last."""
    if len(frame) <= most:
        return frame
    return frame.iloc[np.unique(np.linspace(0, len(frame) - 1, most).round().astype(int))]
