"""Import of each day, and at which hours of which months the policy changes it."""

import pandas as pd

from results.report.charts import Figure, Panel, channel, chart, coloured, greatest, hover, layer, least
from results.report.subjects import LEAST, ONE_METER, OWN, WITHOUT, Hours, by_day, month_name, unit_of
from results.report.words import counted, number, unit_for

PLACES = {"policy": 3}  # in the sections of these kinds


def figure(policy: Hours) -> Figure:
    return year(policy.table)


def year(hours: pd.DataFrame) -> Figure:
    daily = by_day(hours)
    change = by_month_and_hour(hours)
    units = unit_for("kWh", float(daily[[OWN, WITHOUT]].to_numpy().max())) if len(daily) else unit_for("kWh", 0.0)
    better = int((daily[OWN] < daily[WITHOUT] * (1.0 - LEAST)).sum())
    off, on = least(change, "change_kw"), greatest(change, "change_kw")
    when = f"it takes most off at {_hour(off)} and adds most at {_hour(on)}"
    answer = f"It imports less than without control on {better:,} of {counted(len(daily), 'day')}; on average {when}."
    long = daily.melt("day", [OWN, WITHOUT], "name", "kwh")
    long["kwh"] *= units.factor
    lines = layer(
        long, {"type": "line", "strokeWidth": 1.3},
        x=channel("day", title="day", scale={"nice": False}), y=channel("kwh", title=f"import of a day, {units.unit}"),
        color=coloured("name", [OWN, WITHOUT], ("c1", "grey")),
        tooltip=hover(("name", "what"), ("day", "day"), ("kwh", units.unit)),
    )  # fmt: skip
    small, months = unit_of("kW", change[["change_kw"]]), dict.fromkeys(hours["month"])
    cells = pd.DataFrame(
        {"hour": change["hour"], "month": change["month"].map(month_name), "kw": change["change_kw"] * small.factor}
    )
    reach = max(float(cells["kw"].abs().max()), 1e-9)
    heat = layer(
        cells, {"type": "rect"}, x=channel("hour", "ordinal", "hour of the day", axis={"labelAngle": 0}),
        y=channel("month", "ordinal", sort=[month_name(value) for value in months], axis={"labelLimit": 60}),
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
    table["month"] = table["month"].map(month_name)
    note = f"The table has the mean change of net import in kW at each third hour. {ONE_METER}"
    return Figure("year", "When in the year does the policy save?", answer, panels, table, note)


def _hour(row: pd.Series) -> str:
    return f"{int(row['hour'])}:00 in {month_name(row['month'], True)} ({number(row['change_kw'], sign=True)} kW)"


def by_month_and_hour(hours: pd.DataFrame) -> pd.DataFrame:
    """Mean change of net import against the uncontrolled site: month, hour, change_kw."""
    change = (hours["net_kwh"] - hours["uncontrolled_net_kwh"]).rename("change_kw")
    return change.groupby([hours["month"], hours["hour"]]).mean().reset_index()
