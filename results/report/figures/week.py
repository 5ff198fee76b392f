"""The week with the highest import of the uncontrolled site: a policy, and beside the winner of a search what is possible."""

from calendar import month_name

import pandas as pd

from common.texts import counted
from common.units import DAY, WEEK
from results.report.charts import Figure, Panel, channel, chart, coloured, hover, layer
from results.report.subjects import ONE_METER, Hours, Search
from results.report.words import Unit, capital, listed, percent, unit_for
from results.rollout import BESIDE

PLACES = {"policy": 2, "experiment": 6}  # in the sections of these kinds
_ROUNDING = 1e-3  # part of the load; a device that takes less counts as idle


# Columns of net import, with their names and what they look like.
_LINES = {
    "net_kwh": ("policy", "c1", [1, 0]), "uncontrolled_net_kwh": ("uncontrolled", "grey", [5, 3]),
    "mpc_net_kwh": ("MPC", "c2", [6, 2]), "bound_net_kwh": ("perfect foresight", "c3", [2, 2]),
    "load_kwh": ("consumption", "c4", [2, 2]), "pv_kwh": ("PV", "c5", [1, 0]),
}  # fmt: skip


def figure(subject: Hours | Search) -> Figure | None:
    if isinstance(subject, Hours):
        return week(subject.table, "the policy")
    return week(subject.week.table, f"trial {subject.best}") if subject.week else None


def week(hours: pd.DataFrame, who: str = "the policy") -> Figure:
    part = hardest_week(hours)
    # A short site is validated on days, and may have no week.
    span = {WEEK: "week", DAY: "day"}.get(len(part)) or counted(max(1, round(len(part) / DAY)), "day")
    imported, without = part["net_kwh"].clip(lower=0.0), part["uncontrolled_net_kwh"].clip(lower=0.0)
    shown = {column: look for column, look in _LINES.items() if column in part}
    units = _unit(part[[*shown]])
    energy = unit_for("kWh", max(imported.sum(), without.sum()))
    first = int(part["step"].iloc[0]) // 24 + 1
    highest, before = units(imported.max()), units(without.max())
    answer = (
        f"{capital(who)} imports {energy(imported.sum())}, {_beside(imported.sum(), without.sum())} without control; "
        f"its highest hour is {highest}{', as without' if highest == before else f' instead of {before}'}."
    )
    others = {_LINES[column][0]: part[column].clip(lower=0.0) for column in BESIDE if column in part}
    if others:
        told = [f"{name} {energy(net.sum())} with at most {units(net.max())}" for name, net in others.items()]
        answer += f" For comparison: {listed(told)}."
    days = (part["step"] - part["step"].iloc[0]) / 24.0
    long = pd.concat(
        [pd.DataFrame({"day": days, "kw": part[column] * units.factor, "name": look[0]}) for column, look in shown.items()]
    )
    names, tones, patterns = zip(*shown.values(), strict=True)
    colours = coloured("name", list(names), tones)
    dashes = channel("name", "nominal", scale={"domain": list(names), "range": list(patterns)})
    month = month_name[int(part["month"].iloc[0])]
    days_axis = channel("day", title=f"days from day {first}, in {month}", axis={"tickMinStep": 1}, scale={"nice": False})
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
    daily = pd.DataFrame({f"import by {who}, kWh": imported, "uncontrolled, kWh": without})
    daily = daily.assign(**{f"{name}, kWh": net for name, net in others.items()})
    table = daily.groupby((part["step"] // DAY + 1).rename("day")).sum().reset_index()
    note = f"The {span} in which the uncontrolled site has its highest import. {ONE_METER}"
    return Figure("week", f"What does {who} do in the hardest {span}?", answer, tuple(panels), table, note)


def _unit(power: pd.DataFrame) -> Unit:
    return unit_for("kW", float(power.abs().max().max()))


def _beside(imported: float, without: float) -> str:
    if not without:
        return "where there was none"
    change = imported / without - 1.0
    return "as much as" if abs(change) < 0.0005 else f"{percent(abs(change))} {'less' if change < 0.0 else 'more'} than"


def hardest_week(hours: pd.DataFrame) -> pd.DataFrame:
    """The whole week with the highest import of the uncontrolled site in an hour; all hours where there is no whole week."""
    weeks = len(hours) // WEEK
    if not weeks:
        return hours.reset_index(drop=True)
    peaks = hours["uncontrolled_net_kwh"].to_numpy()[: weeks * WEEK].reshape(weeks, WEEK).max(axis=1)
    start = int(peaks.argmax()) * WEEK
    return hours.iloc[start : start + WEEK].reset_index(drop=True)
