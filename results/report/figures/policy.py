"""Figures of one policy: what it does with the site's hours, against the uncontrolled site."""

from __future__ import annotations

import calendar
from typing import TYPE_CHECKING

from common.measure import BASIS
from results.report import hours as analysis
from results.report.charts import channel, chart, coloured, compared, hover, layer
from results.report.colours import colour
from results.report.figure import Figure, Panel
from results.report.rows import greatest, least
from results.report.words import UNCONTROLLED, Unit, counted, listed, number, percent, unit_for

if TYPE_CHECKING:
    import pandas as pd

_OWN, _WITHOUT = "policy", "uncontrolled"
_ONE_METER = "The site counts as one meter here: import is net import above 0."
_LEAST = 1e-3  # part of what flows; less than this is rounding


def figures(hours: pd.DataFrame) -> tuple[Figure, ...]:
    """All figures of a policy.

    Args:
        hours: of a rollout; see `results.rollout.COLUMNS`.
    """
    return savings(hours), week(hours), year(hours), duration(hours), bill(hours), storage(hours)


def savings(hours: pd.DataFrame) -> Figure:
    """What the policy saves over all hours: import, cost of energy, emission and highest import."""
    import pandas as pd

    total = analysis.sums(hours)
    own, without = (total.loc[name].astype(float).to_dict() for name in (_OWN, _WITHOUT))
    names = {"import_kwh": "import", "cost": "energy cost", "co2_kg": "CO2", "peak_kw": "peak"}
    units = {"import_kwh": "kWh", "cost": "", "co2_kg": "kg", "peak_kw": "kW"}
    shown = {name: unit_for(units[name], total[name].abs().max()) for name in names}
    change = {name: _change(own[name], without[name]) for name in names}
    table = pd.DataFrame(
        {
            "": [_capital(name) for name in names.values()],
            "policy": [shown[name](own[name]) for name in names],
            "uncontrolled": [shown[name](without[name]) for name in names],
            "change": [percent(change[name], sign=True) for name in names],
        }
    )
    known = {name: value for name, value in change.items() if value == value}
    size = {name: abs(own[name] - without[name]) for name in names}
    basis = {name: "" if name == "peak_kw" else " a year" for name in names}
    told = {
        name: f"{names[name]} by {percent(abs(value))} ({unit_for(units[name], size[name])(size[name])}{basis[name]})"
        for name, value in known.items()
    }
    lower = [told[name] for name, value in known.items() if value < -0.0005]
    higher = [told[name] for name, value in known.items() if value > 0.0005]
    if not lower and not higher:
        answer = f"Nothing: over {_time(hours)} it is as without control."
    elif not lower:
        answer = f"Nothing: over {_time(hours)} the policy raises {listed(higher)} against {UNCONTROLLED}."
    else:
        raised = f" and raises {listed(higher)}" if higher else ""
        answer = f"Over {_time(hours)} the policy lowers {listed(lower)}{raised}, against {UNCONTROLLED}."
    drawn = pd.DataFrame({"name": [names[name] for name in known], "change": list(known.values())})
    note = f"The dashed line is the uncontrolled site. {_ONE_METER} Costs are of energy in the tariff's currency, without a "
    note += "demand charge."
    return Figure("savings", f"What does the policy save in {BASIS}?", answer, (Panel(compared(drawn)),), table, note)


def week(hours: pd.DataFrame) -> Figure:
    """The week with the highest import of the uncontrolled site."""
    import pandas as pd

    part = analysis.hardest_week(hours)
    own, without = part["net_kwh"].clip(lower=0.0), part["uncontrolled_net_kwh"].clip(lower=0.0)
    units = _unit("kW", part[["load_kwh", "pv_kwh", "net_kwh", "uncontrolled_net_kwh"]])
    energy = unit_for("kWh", max(own.sum(), without.sum()))
    first = int(part["step"].iloc[0]) // 24 + 1
    saved = _change(own.sum(), without.sum())
    answer = (
        f"It imports {energy(own.sum())}, {_less(saved)} than without control; "
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
    flows = {"battery_kwh": "battery", "charging_kwh": "vehicles"}
    flows = {column: name for column, name in flows.items() if _flows(part, column)}
    if flows:
        small = _unit("kW", part[list(flows)])
        moved = pd.concat(
            [pd.DataFrame({"day": days, "kw": part[column] * small.factor, "name": name}) for column, name in flows.items()]
        )
        steps = layer(
            moved, {"type": "line", "interpolate": "step-after", "strokeWidth": 1.6}, x=days_axis,
            y=channel("kw", title=f"{small.unit}, charging above 0"),
            color=coloured("name", list(flows.values()), ("c3", "c2")),
            tooltip=hover(("name", "what"), ("day", "day"), ("kw", small.unit)),
        )  # fmt: skip
        panels.append(Panel(chart(steps, height=150), "What batteries and vehicles take"))
    daily = analysis.by_day(part)
    table = _table(daily, {"day": "day", "policy": "import by the policy, kWh", "uncontrolled": "uncontrolled, kWh"})
    note = f"The week in which the uncontrolled site has its highest import. {_ONE_METER}"
    return Figure("week", "What does the policy do in the hardest week?", answer, tuple(panels), table, note)


def year(hours: pd.DataFrame) -> Figure:
    """Import of each day, and at which hours of which months the policy changes it."""
    import pandas as pd

    daily = analysis.by_day(hours)
    change = analysis.by_month_and_hour(hours)
    units = unit_for("kWh", float(daily[[_OWN, _WITHOUT]].to_numpy().max())) if len(daily) else unit_for("kWh", 0.0)
    better = int((daily[_OWN] < daily[_WITHOUT] * (1.0 - _LEAST)).sum())
    off, on = least(change, "change_kw"), greatest(change, "change_kw")
    when = f"it takes most off at {_hour(off)} and adds most at {_hour(on)}"
    answer = f"It imports less than without control on {better:,} of {counted(len(daily), 'day')}; on average {when}."
    long = daily.melt("day", [_OWN, _WITHOUT], "name", "kwh")
    long["kwh"] *= units.factor
    lines = layer(
        long, {"type": "line", "strokeWidth": 1.3},
        x=channel("day", title="day", scale={"nice": False}), y=channel("kwh", title=f"import of a day, {units.unit}"),
        color=coloured("name", [_OWN, _WITHOUT], ("c1", "grey")),
        tooltip=hover(("name", "what"), ("day", "day"), ("kwh", units.unit)),
    )  # fmt: skip
    small, months = _unit("kW", change[["change_kw"]]), dict.fromkeys(hours["month"])
    cells = pd.DataFrame(
        {"hour": change["hour"], "month": change["month"].map(_month), "kw": change["change_kw"] * small.factor}
    )
    reach = max(float(cells["kw"].abs().max()), 1e-9)
    heat = layer(
        cells, {"type": "rect"}, x=channel("hour", "ordinal", "hour of the day", axis={"labelAngle": 0}),
        y=channel("month", "ordinal", sort=[_month(value) for value in months], axis={"labelLimit": 60}),
        color=channel(
            "kw", title=f"change of net import, {small.unit}",
            scale={"domain": [-reach, 0, reach], "range": ["#0072b2", "#f2f2f2", "#d55e00"]}, legend={"format": "+.2~s"},
        ),
        tooltip=hover(("month", "month"), ("hour", "hour"), ("kw", small.unit)),
    )  # fmt: skip
    panels = (
        Panel(chart(lines, height=220), "Import of each day"),
        Panel(chart(heat, height=16 * len(months)), "Change against the uncontrolled site: blue is less"),
    )
    table = change.pivot_table(index="month", columns="hour", values="change_kw").reindex(list(months)).reset_index()
    table = table[["month", *[name for name in table.columns if name != "month" and int(name) % 3 == 0]]]
    table = table.rename(columns={name: f"{name}:00" for name in table.columns if name != "month"})
    table["month"] = table["month"].map(_month)
    note = f"The table has the mean change of net import in kW at each third hour. {_ONE_METER}"
    return Figure("year", "When in the year does the policy save?", answer, panels, table, note)


def duration(hours: pd.DataFrame) -> Figure:
    """Net import in descending order."""
    curve = analysis.duration_curve(hours)
    own, without = hours["net_kwh"], hours["uncontrolled_net_kwh"]
    units = _unit("kW", hours[["net_kwh", "uncontrolled_net_kwh"]])
    change = _change(own.max(), without.max())
    verb = "falls" if change < -0.0005 else "rises" if change > 0.0005 else "stays"
    ends = f"from {units(without.max())} to {units(own.max())}" if verb != "stays" else f"at {units(own.max())}"
    top = (_quantile(own), _quantile(without))
    answer = (
        f"The highest import {verb} {ends}; in the hundredth of the hours with most import it is "
        f"at least {units(top[0])} instead of {units(top[1])}."
    )
    long = curve.melt("share", [_OWN, _WITHOUT], "name", "kw")
    long["kw"] *= units.factor
    lines = layer(
        long, "line", x=channel("share", title="part of the hours", axis={"format": ".0%"}, scale={"nice": False}),
        y=channel("kw", title=f"net import, {units.unit}"), color=coloured("name", [_OWN, _WITHOUT], ("c1", "grey")),
        tooltip=[*hover(("name", "what"), ("kw", units.unit)), {"field": "share", "title": "part", "format": ".1%"}],
    )  # fmt: skip
    zero = {"data": {"values": [{}]}, "mark": "rule", "encoding": {"y": {"datum": 0}}}
    steps = curve.iloc[[int((curve["share"] - part).abs().argmin()) for part in (0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0)]]
    table = _table(
        steps.assign(share=[percent(value) for value in steps["share"]]),
        {"share": "part of the hours", _OWN: "policy, kW", _WITHOUT: "uncontrolled, kW"},
    )
    note = "Hours in the order of their net import. Below 0 the site exports." if (own.min() < 0) else ""
    return Figure("duration-curve", "Does the policy cut the peaks?", answer, (Panel(chart(lines, zero)),), table, note)


def bill(hours: pd.DataFrame) -> Figure:
    """Cost of energy of each month."""
    monthly = analysis.by_month(hours)
    own, without = float(monthly[_OWN].sum()), float(monthly[_WITHOUT].sum())
    question = "What does the policy save each month?"
    if not without and not own:
        return Figure("monthly-bill", question, "Nothing: energy costs nothing on this site.")
    change = _change(own, without)
    best = greatest(monthly, "saved")
    worse = monthly[monthly["saved"] < -_LEAST * without / len(monthly)]
    dearer = f"; {_dearer(worse)}" if len(worse) else "; no month costs more" if len(monthly) > 1 else ""
    most = f", most in {_month(best.month, True)} ({number(best.saved)})" if best.saved > 0 and len(monthly) > 1 else ""
    answer = f"Energy costs {number(own)} instead of {number(without)}, {_less(change)}{most}{dearer}."
    long = monthly.assign(month=monthly["month"].map(_month)).melt("month", [_OWN, _WITHOUT], "name", "cost")
    bars = layer(
        long, {"type": "bar"},
        x=channel("month", "ordinal", sort=None, axis={"labelAngle": 0}), xOffset=channel("name", "nominal", sort=None),
        y=channel("cost", title="cost of energy, the tariff's currency"),
        color=coloured("name", [_OWN, _WITHOUT], ("c1", "grey")),
        tooltip=hover(("name", "what"), ("month", "month"), ("cost", "cost")),
    )  # fmt: skip
    table = _table(
        monthly.assign(month=monthly["month"].map(_month)),
        {"month": "month", "hours": "hours", _OWN: "policy", _WITHOUT: "uncontrolled", "saved": "saved"},
    )
    note = f"Cost of energy in the tariff's currency, without a demand charge. {_ONE_METER}"
    return Figure("monthly-bill", question, answer, (Panel(chart(bars)),), table, note)


def storage(hours: pd.DataFrame) -> Figure:
    """The mean day of batteries and vehicles."""
    question = "How does it use batteries and vehicles?"
    day = analysis.by_hour(hours)
    days = max(len(hours) / 24.0, 1.0)
    names = {
        column: name for column, name in {"battery_kwh": "battery", "charging_kwh": "vehicles"}.items() if _flows(hours, column)
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
    answer = f"{_capital('; '.join(parts))}."
    units = _unit("kW", day[[*names, "pv_kwh"]])
    shown = names | ({"pv_kwh": "PV"} if _flows(hours, "pv_kwh") else {})
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
    table = _table(day, {"hour": "hour", **{column: f"{name}, kW" for column, name in shown.items()}, "price": "price"})
    return Figure("batteries-and-vehicles", question, answer, panels, table)


def _quantile(net: pd.Series) -> float:
    return float(net.quantile(0.99))


def _change(own: float, without: float) -> float:
    """Change as a part; NaN where there was nothing."""
    return float(own) / float(without) - 1.0 if without else float("nan")


def _less(change: float) -> str:
    """A change in words."""
    if change != change:
        return "where there was none"
    if abs(change) < 0.0005:
        return "no different"
    return f"{percent(abs(change))} {'less' if change < 0 else 'more'}"


def _flows(hours: pd.DataFrame, column: str) -> bool:
    """Whether a flow is more than rounding."""
    most = float(hours["load_kwh"].abs().max()) or 1.0
    return bool(hours[column].abs().max() > _LEAST * most)


def _unit(unit: str, frame: pd.DataFrame) -> Unit:
    return unit_for(unit, float(frame.abs().max().max()))


def _time(hours: pd.DataFrame) -> str:
    days = len(hours) / 24.0
    return counted(len(hours), "hour") if days < 2 else counted(round(days), "day")


def _month(value: float, whole: bool = False) -> str:
    names = calendar.month_name if whole else calendar.month_abbr
    return str(names[int(value)]) if 1 <= value <= 12 else f"month {int(value)}"


def _hour(row: pd.Series) -> str:
    return f"{int(row['hour'])}:00 in {_month(row['month'], True)} ({number(row['change_kw'], sign=True)} kW)"


def _dearer(worse: pd.DataFrame) -> str:
    names = [_month(value, True) for value in worse["month"]]
    return f"{listed(names)} {'costs' if len(names) == 1 else 'cost'} more"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _table(frame: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    """The columns of a table, with the names that a person reads."""
    return frame[list(names)].rename(columns=names)
