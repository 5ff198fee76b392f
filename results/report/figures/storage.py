"""The mean day: hour, battery_kwh, charging_kwh, pv_kwh, price."""

import pandas as pd

from results.report.charts import Figure, Panel, channel, chart, colour, coloured, greatest, hover, layer, least
from results.report.subjects import Hours, flows, renamed, unit_of
from results.report.words import capital, unit_for

PLACES = {"policy": 6}  # in the sections of these kinds


def figure(policy: Hours) -> Figure:
    return storage(policy.table)


def storage(hours: pd.DataFrame) -> Figure:
    question = "How does it use batteries and vehicles?"
    day = by_hour(hours)
    days = max(len(hours) / 24.0, 1.0)
    names = {
        column: name for column, name in {"battery_kwh": "battery", "charging_kwh": "vehicles"}.items() if flows(hours, column)
    }
    if not names:
        return Figure(
            "batteries-and-vehicles", question, "Not at all: neither batteries nor vehicles take energy in these hours."
        )
    parts = []
    if "battery_kwh" in names:
        given = -hours["battery_kwh"].clip(upper=0.0).sum() / days
        units = unit_for("kWh", given)
        charged, discharged = int(greatest(day, "battery_kwh").hour), int(least(day, "battery_kwh").hour)
        parts.append(f"batteries give {units(given)} a day, charge most at {charged}:00 and discharge most at {discharged}:00")
    if "charging_kwh" in names:
        taken = hours["charging_kwh"].sum() / days
        parts.append(
            f"vehicles take {unit_for('kWh', taken)(taken)} a day, most at {int(greatest(day, 'charging_kwh').hour)}:00"
        )
    answer = f"{capital('; '.join(parts))}."
    units = unit_of("kW", day[[*names, "pv_kwh"]])
    shown = names | ({"pv_kwh": "PV"} if flows(hours, "pv_kwh") else {})
    long = day.melt("hour", list(shown), "column", "kw").assign(name=lambda frame: frame["column"].map(shown))
    long["kw"] *= units.factor
    colours = {"battery": "c3", "vehicles": "c2", "PV": "c5"}
    lines = layer(
        long, {"type": "line", "interpolate": "step-after"},
        x=channel("hour", title="hour of the day", scale={"domain": [0, 23]}), y=channel("kw", title=f"mean, {units.unit}"),
        color=coloured("name", list(shown.values()), [colours[name] for name in shown.values()]),
        tooltip=hover(("name", "what"), ("hour", "hour"), ("kw", units.unit)),
    )  # fmt: skip
    zero = {"data": {"values": [{}]}, "mark": "rule", "encoding": {"y": {"datum": 0}}}
    price = layer(
        day, {"type": "line", "interpolate": "step-after", "color": colour("c4")},
        x=channel("hour", title="hour of the day", scale={"domain": [0, 23]}), y=channel("price", title="currency a kWh"),
        tooltip=hover(("hour", "hour"), ("price", "price")),
    )  # fmt: skip
    panels = (
        Panel(chart(lines, zero, height=220), "Mean day; charging is above 0"),
        Panel(chart(price, height=120), "Mean price of energy"),
    )
    table = renamed(day, {"hour": "hour", **{column: f"{name}, kW" for column, name in shown.items()}, "price": "price"})
    return Figure("batteries-and-vehicles", question, answer, panels, table)


def by_hour(hours: pd.DataFrame) -> pd.DataFrame:
    """The mean day of battery, vehicles, PV and price.

    Returns:
        Columns hour, battery_kwh, charging_kwh, pv_kwh, price.
    """
    names = ["battery_kwh", "charging_kwh", "pv_kwh", "price"]
    return hours.groupby("hour")[names].mean().reset_index()
