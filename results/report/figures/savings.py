"""What the policy saves over all hours: import, cost of energy, emission and highest import."""

import pandas as pd

from common.measure import BASIS
from common.texts import counted
from common.units import YEAR
from results.report.charts import Figure, savings_of
from results.report.subjects import ONE_METER, Hours
from results.report.words import listed, uncontrolled

PLACES = {"policy": 1}  # in the sections of these kinds
# Columns of `sums`: name and unit; that of the cost is the money of the site, where it is known.
_AMOUNTS = {"import_kwh": ("import", "kWh"), "cost": ("energy cost", ""), "co2_kg": ("CO2", "kg"), "peak_kw": ("peak", "kW")}


def figure(policy: Hours) -> Figure:
    return savings(policy.table, policy.about.get("currency", ""))


def savings(hours: pd.DataFrame, currency: str = "") -> Figure:
    total = sums(hours)
    amounts = []
    for column, (name, unit) in _AMOUNTS.items():
        now, before = total[column]
        if before > 0.0:
            unit = currency if column == "cost" else unit
            amounts.append({"name": name, "unit": unit, "own": now, "before": before, "is_yearly": column != "peak_kw"})
    question = f"What does the policy save in {BASIS}?"
    if not amounts:
        return Figure("savings", question, f"Nothing: over {_time(hours)} the site without control takes nothing.")
    changes = savings_of(amounts, "policy")
    site = uncontrolled(bool((hours["charging_kwh"] != 0.0).any()))
    raised = f" and raises {listed(changes.higher)}" if changes.higher else ""
    if changes.lower:
        answer = f"Over {_time(hours)} the policy lowers {listed(changes.lower)}{raised}, against {site}."
    elif changes.higher:
        answer = f"Nothing: over {_time(hours)} the policy raises {listed(changes.higher)} against {site}."
    else:
        answer = f"Nothing: over {_time(hours)} it is as without control."
    note = f"The dashed line is the uncontrolled site. {ONE_METER} Costs are of energy, without a demand charge."
    return Figure("savings", question, answer, (changes.panel,), changes.table, note)


def _time(hours: pd.DataFrame) -> str:
    days = len(hours) / 24.0
    return counted(len(hours), "hour") if days < 2 else counted(round(days), "day")


def sums(hours: pd.DataFrame) -> pd.DataFrame:
    """Rows `policy` and `uncontrolled`: import, cost of energy and emission of a year of 8,760 h, and the highest import."""
    rows = {}
    for name, net in (("policy", hours["net_kwh"]), ("uncontrolled", hours["uncontrolled_net_kwh"])):
        drawn = net.clip(lower=0.0)
        rows[name] = {
            "import_kwh": drawn.mean() * YEAR, "cost": (drawn * hours["price"]).mean() * YEAR,
            "co2_kg": (drawn * hours["carbon"]).mean() * YEAR, "peak_kw": drawn.max(),
        }  # fmt: skip
    return pd.DataFrame(rows).T
