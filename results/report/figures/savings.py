"""What the policy saves over all hours: import, cost of energy, emission and highest import."""

import pandas as pd

from common.measure import BASIS
from common.units import YEAR
from results.report.charts import Figure, Panel, compared
from results.report.subjects import ONE_METER, OWN, WITHOUT, Hours, change_of
from results.report.words import UNCONTROLLED, capital, counted, listed, percent, unit_for

PLACES = {"policy": 1}  # in the sections of these kinds


def figure(policy: Hours) -> Figure:
    return savings(policy.table)


def savings(hours: pd.DataFrame) -> Figure:
    total = sums(hours)
    own, without = (total.loc[name].astype(float).to_dict() for name in (OWN, WITHOUT))
    names = {"import_kwh": "import", "cost": "energy cost", "co2_kg": "CO2", "peak_kw": "peak"}
    units = {"import_kwh": "kWh", "cost": "", "co2_kg": "kg", "peak_kw": "kW"}
    shown = {name: unit_for(units[name], total[name].abs().max()) for name in names}
    change = {name: change_of(own[name], without[name]) for name in names}
    table = pd.DataFrame(
        {
            "": [capital(name) for name in names.values()],
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
    note = f"The dashed line is the uncontrolled site. {ONE_METER} Costs are of energy in the tariff's currency, without a "
    note += "demand charge."
    return Figure("savings", f"What does the policy save in {BASIS}?", answer, (Panel(compared(drawn)),), table, note)


def _time(hours: pd.DataFrame) -> str:
    days = len(hours) / 24.0
    return counted(len(hours), "hour") if days < 2 else counted(round(days), "day")


def sums(hours: pd.DataFrame) -> pd.DataFrame:
    """Import, cost of energy and emission as those of a year of 8,760 h, and the highest import.

    Returns:
        Rows `policy` and `uncontrolled`; columns import_kwh, cost (currency), co2_kg, peak_kw.
    """
    rows = {}
    for name, net in (("policy", hours["net_kwh"]), ("uncontrolled", hours["uncontrolled_net_kwh"])):
        drawn = net.clip(lower=0.0)
        rows[name] = {
            "import_kwh": drawn.mean() * YEAR, "cost": (drawn * hours["price"]).mean() * YEAR,
            "co2_kg": (drawn * hours["carbon"]).mean() * YEAR, "peak_kw": drawn.max(),
        }  # fmt: skip
    return pd.DataFrame(rows).T
