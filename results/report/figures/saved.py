"""What the best policy of a search saves against the uncontrolled site."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from common.measure import A_YEAR, BASIS, SITE, Measure
from results.analysis.judged import last_evaluation
from results.report.charts import Figure, Panel, compared, each
from results.report.subjects import Search
from results.report.words import RULES, UNCONTROLLED, listed, percent, unit_for

PLACES = {"experiment": 4}  # in the sections of these kinds
# A page may be read from its first lines alone, so these sentences stand with the savings.
_CHOSEN = "Expect less: these hours also chose the trial."
_CHECKED = "What fresh seeds or new hours give is under the question of luck."
_UNCHECKED = "No new hours or seeds have checked it."


def figure(search: Search) -> Figure:
    best, last = search.best, last_evaluation(search.results)
    # By its training again, or by its judgement.
    others = ~search.lucky["is_default"].astype(bool) & search.lucky["change"].notna()
    checked = bool(others.any() or search.confirmed["gain"].notna().any())
    return saved(last[last["trial"] == (-1 if best is None else best)], search.results.measures, best, checked=checked)


def saved(
    last: pd.DataFrame,
    measures: Mapping[str, Measure],
    best: int | None,
    split: str = "validation",
    checked: bool = False,
) -> Figure:
    question = f"What does the best policy save in {BASIS}?"
    if best is None or last.empty:
        return Figure("saved", question, "It cannot be said: no trial has won.")
    rows = []
    for measure in measures.values():
        own, before = measure.value(last), measure.value(last, SITE)
        if measure.label and not measure.is_share and own == own and before:
            rows.append({"name": measure.label, "unit": measure.shown_unit, "own": own, "before": before})
            rows[-1] |= {"change": own / before - 1.0, "scales": measure.over == A_YEAR}
    if not rows:
        return Figure("saved", question, "It cannot be said: its evaluation has no amounts.")
    found = pd.DataFrame(rows)
    lower = [f"{row.name} by {_amount(row)}" for row in each(found) if row.change < -0.0005]
    higher = [f"{row.name} by {_amount(row)}" for row in each(found) if row.change > 0.0005]
    if not lower and not higher:
        answer = f"Nothing: trial {best} is like {UNCONTROLLED} on the {split} hours."
    elif not lower:
        answer = f"Nothing: against {UNCONTROLLED}, trial {best} raises {listed(higher)} on the {split} hours."
    else:
        raised = f" and raises {listed(higher)}" if higher else ""
        answer = f"Against {UNCONTROLLED}, trial {best} lowers {listed(lower)}{raised} on the {split} hours."
        answer += f" {_CHOSEN} {_CHECKED if checked else _UNCHECKED}"
    table = pd.DataFrame(
        {
            "": [name[:1].upper() + name[1:] for name in found["name"]],
            "best policy": [unit_for(row.unit, max(row.own, row.before))(row.own) for row in each(found)],
            "uncontrolled": [unit_for(row.unit, max(row.own, row.before))(row.before) for row in each(found)],
            "change": [percent(value, sign=True) for value in found["change"]],
        }
    )
    note = (
        f"Scaled from {last['hours'].sum():,.0f} {split} hours; the peak is the highest of all. "
        "The dashed line is the uncontrolled site. "
        f"The bill is in the tariff's currency. {RULES}"
    )
    return Figure("saved", question, answer, (Panel(compared(found)),), table, note)


def _amount(row: Any) -> str:
    """A change in per cent and, with its unit, of a year."""
    size = abs(row.own - row.before)
    shown = unit_for(row.unit, size)(size)
    of_year = "" if not row.scales else " a year" if row.unit else " a year in the tariff's currency"
    return f"{percent(abs(row.change))} ({shown}{of_year})"
