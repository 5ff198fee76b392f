"""Net import in descending order: share (of the hours with at least this import), policy, uncontrolled (kW)."""

import numpy as np
import pandas as pd

from results.report.charts import Figure, Panel, channel, chart, coloured, hover, layer
from results.report.subjects import OWN, WITHOUT, Hours, change_of, renamed, unit_of
from results.report.words import percent

PLACES = {"policy": 4}  # in the sections of these kinds


def figure(policy: Hours) -> Figure:
    return peaks(policy.table)


def peaks(hours: pd.DataFrame) -> Figure:
    curve = duration_curve(hours)
    own, without = hours["net_kwh"], hours["uncontrolled_net_kwh"]
    units = unit_of("kW", hours[["net_kwh", "uncontrolled_net_kwh"]])
    change = change_of(own.max(), without.max())
    verb = "falls" if change < -0.0005 else "rises" if change > 0.0005 else "stays"
    ends = f"from {units(without.max())} to {units(own.max())}" if verb != "stays" else f"at {units(own.max())}"
    top = (_quantile(own), _quantile(without))
    answer = (
        f"The highest import {verb} {ends}; in the hundredth of the hours with most import it is "
        f"at least {units(top[0])} instead of {units(top[1])}."
    )
    long = curve.melt("share", [OWN, WITHOUT], "name", "kw")
    long["kw"] *= units.factor
    lines = layer(
        long, "line", x=channel("share", title="part of the hours", axis={"format": ".0%"}, scale={"nice": False}),
        y=channel("kw", title=f"net import, {units.unit}"), color=coloured("name", [OWN, WITHOUT], ("c1", "grey")),
        tooltip=[*hover(("name", "what"), ("kw", units.unit)), {"field": "share", "title": "part", "format": ".1%"}],
    )  # fmt: skip
    zero = {"data": {"values": [{}]}, "mark": "rule", "encoding": {"y": {"datum": 0}}}
    steps = curve.iloc[[int((curve["share"] - part).abs().argmin()) for part in (0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0)]]
    table = renamed(
        steps.assign(share=[percent(value) for value in steps["share"]]),
        {"share": "part of the hours", OWN: "policy, kW", WITHOUT: "uncontrolled, kW"},
    )
    note = "Hours in the order of their net import. Below 0 the site exports." if (own.min() < 0) else ""
    return Figure("duration-curve", "Does the policy cut the peaks?", answer, (Panel(chart(lines, zero)),), table, note)


def _quantile(net: pd.Series) -> float:
    return float(net.quantile(0.99))


def duration_curve(hours: pd.DataFrame, points: int = 200) -> pd.DataFrame:
    """Net import in descending order.

    Returns:
        Columns share (of the hours with at least this import), policy, uncontrolled (kW).
    """
    places = np.unique(((len(hours) - 1) * np.linspace(0.0, 1.0, points) ** 2).round().astype(int))
    columns = {name: np.sort(hours[column].to_numpy())[::-1][places] for name, column in _NETS.items()}
    return pd.DataFrame({"share": (places + 1) / len(hours), **columns})


_NETS = {"policy": "net_kwh", "uncontrolled": "uncontrolled_net_kwh"}
