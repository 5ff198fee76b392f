"""Cost of energy of each month."""

import pandas as pd

from results.report.charts import Figure, Panel, channel, chart, coloured, greatest, hover, layer
from results.report.subjects import LEAST, ONE_METER, OWN, WITHOUT, Hours, change_of, less, month_name, renamed
from results.report.words import listed, number

PLACES = {"policy": 5}  # in the sections of these kinds


def figure(policy: Hours) -> Figure:
    return bill(policy.table)


def bill(hours: pd.DataFrame) -> Figure:
    monthly = by_month(hours)
    own, without = float(monthly[OWN].sum()), float(monthly[WITHOUT].sum())
    question = "What does the policy save each month?"
    if not without and not own:
        return Figure("monthly-bill", question, "Nothing: energy costs nothing on this site.")
    change = change_of(own, without)
    best = greatest(monthly, "saved")
    worse = monthly[monthly["saved"] < -LEAST * without / len(monthly)]
    dearer = f"; {_dearer(worse)}" if len(worse) else "; no month costs more" if len(monthly) > 1 else ""
    most = f", most in {month_name(best.month, True)} ({number(best.saved)})" if best.saved > 0 and len(monthly) > 1 else ""
    answer = f"Energy costs {number(own)} instead of {number(without)}, {less(change)}{most}{dearer}."
    long = monthly.assign(month=monthly["month"].map(month_name)).melt("month", [OWN, WITHOUT], "name", "cost")
    bars = layer(
        long, {"type": "bar"},
        x=channel("month", "ordinal", sort=None, axis={"labelAngle": 0}), xOffset=channel("name", "nominal", sort=None),
        y=channel("cost", title="cost of energy, the tariff's currency"),
        color=coloured("name", [OWN, WITHOUT], ("c1", "grey")),
        tooltip=hover(("name", "what"), ("month", "month"), ("cost", "cost")),
    )  # fmt: skip
    table = renamed(
        monthly.assign(month=monthly["month"].map(month_name)),
        {"month": "month", "hours": "hours", OWN: "policy", WITHOUT: "uncontrolled", "saved": "saved"},
    )
    note = f"Cost of energy in the tariff's currency, without a demand charge. {ONE_METER}"
    return Figure("monthly-bill", question, answer, (Panel(chart(bars)),), table, note)


def _dearer(worse: pd.DataFrame) -> str:
    names = [month_name(value, True) for value in worse["month"]]
    return f"{listed(names)} {'costs' if len(names) == 1 else 'cost'} more"


def by_month(hours: pd.DataFrame) -> pd.DataFrame:
    """Cost of energy in the order of the data: month, hours, policy, uncontrolled (currency), and saved, the difference."""
    cost = hours[["net_kwh", "uncontrolled_net_kwh"]].clip(lower=0.0).mul(hours["price"], axis=0)
    grouped = cost.groupby(hours["month"], sort=False)
    monthly = grouped.sum().rename(columns={"net_kwh": "policy", "uncontrolled_net_kwh": "uncontrolled"})
    monthly.insert(0, "hours", grouped.size())
    monthly["saved"] = monthly["uncontrolled"] - monthly["policy"]
    return monthly.reset_index()
