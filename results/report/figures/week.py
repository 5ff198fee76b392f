"""The week with the highest import of the uncontrolled site."""

import pandas as pd

from common.units import DAY, WEEK
from results.report.charts import Figure, Panel, channel, chart, coloured, hover, layer
from results.report.subjects import ONE_METER, Hours
from results.report.words import Unit, percent, unit_for

PLACES = {"policy": 2}  # in the sections of these kinds
_ROUNDING = 1e-3  # part of the load; what moves less does not move


def figure(policy: Hours) -> Figure:
    return week(policy.table)


def week(hours: pd.DataFrame) -> Figure:
    part = hardest_week(hours)
    own, without = part["net_kwh"].clip(lower=0.0), part["uncontrolled_net_kwh"].clip(lower=0.0)
    units = _unit(part[["load_kwh", "pv_kwh", "net_kwh", "uncontrolled_net_kwh"]])
    energy = unit_for("kWh", max(own.sum(), without.sum()))
    first = int(part["step"].iloc[0]) // 24 + 1
    answer = (
        f"It imports {energy(own.sum())}, {_beside(own.sum(), without.sum())} without control; "
        f"its highest hour is {units(own.max())} instead of {units(without.max())}."
    )
    days = (part["step"] - part["step"].iloc[0]) / 24.0
    lines = {"net_kwh": "policy", "uncontrolled_net_kwh": "uncontrolled", "load_kwh": "consumption", "pv_kwh": "PV"}
    long = pd.concat(
        [pd.DataFrame({"day": days, "kw": part[column] * units.factor, "name": name}) for column, name in lines.items()]
    )
    colours = coloured("name", list(lines.values()), ("c1", "grey", "c4", "c5"))
    patterns = [[1, 0], [5, 3], [2, 2], [1, 0]]
    dashes = channel("name", "nominal", scale={"domain": list(lines.values()), "range": patterns})
    days_axis = channel("day", title=f"days from day {first}", axis={"tickMinStep": 1}, scale={"nice": False})
    power = layer(
        long, {"type": "line", "strokeWidth": 1.6}, x=days_axis, y=channel("kw", title=units.unit), color=colours,
        strokeDash=dashes, tooltip=hover(("name", "what"), ("day", "day"), ("kw", units.unit)),
    )  # fmt: skip
    panels = [Panel(chart(power), "Net import, consumption and PV")]
    moving = {"battery_kwh": "battery", "charging_kwh": "vehicles"}
    moving = {
        column: name for column, name in moving.items() if part[column].abs().max() > _ROUNDING * part["load_kwh"].abs().max()
    }
    if moving:
        small = _unit(part[list(moving)])
        moved = pd.concat(
            [pd.DataFrame({"day": days, "kw": part[column] * small.factor, "name": name}) for column, name in moving.items()]
        )
        steps = layer(
            moved, {"type": "line", "interpolate": "step-after", "strokeWidth": 1.6}, x=days_axis,
            y=channel("kw", title=f"{small.unit}, charging above 0"),
            color=coloured("name", list(moving.values()), ("c3", "c2")),
            tooltip=hover(("name", "what"), ("day", "day"), ("kw", small.unit)),
        )  # fmt: skip
        panels.append(Panel(chart(steps, height=150), "What batteries and vehicles take"))
    daily = pd.DataFrame({"import by the policy, kWh": own, "uncontrolled, kWh": without})
    table = daily.groupby((part["step"] // DAY + 1).rename("day")).sum().reset_index()
    note = f"The week in which the uncontrolled site has its highest import. {ONE_METER}"
    return Figure("week", "What does the policy do in the hardest week?", answer, tuple(panels), table, note)


def _unit(power: pd.DataFrame) -> Unit:
    return unit_for("kW", float(power.abs().max().max()))


def _beside(own: float, without: float) -> str:
    if not without:
        return "where there was none"
    change = own / without - 1.0
    return "as much as" if abs(change) < 0.0005 else f"{percent(abs(change))} {'less' if change < 0.0 else 'more'} than"


def hardest_week(hours: pd.DataFrame) -> pd.DataFrame:
    """The whole week with the highest import of the uncontrolled site in an hour; all hours where there is no whole week."""
    weeks = len(hours) // WEEK
    if not weeks:
        return hours.reset_index(drop=True)
    peaks = hours["uncontrolled_net_kwh"].to_numpy()[: weeks * WEEK].reshape(weeks, WEEK).max(axis=1)
    start = int(peaks.argmax()) * WEEK
    return hours.iloc[start : start + WEEK].reset_index(drop=True)
