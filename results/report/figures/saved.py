"""What the best policy of a search saves against the uncontrolled site."""

import math
from collections.abc import Mapping

import pandas as pd

from common.measure import A_YEAR, BASIS, COMFORT, SITE, Measure
from results.analysis.judged import caveats
from results.analysis.yardsticks import beside_yardsticks
from results.report.charts import Figure, savings_of
from results.report.subjects import Search
from results.report.words import RULES, listed, percent, uncontrolled

PLACES = {"experiment": 4}  # in the sections of these kinds
# A page may be read from its first lines alone, so these sentences stand with the savings.
_CHOSEN = "Expect less: these hours also chose the trial."
_CHECKED = "What fresh seeds or new hours give is under the question of luck."
_UNCHECKED = "No new hours or seeds have checked trainings of this length."


def figure(search: Search) -> Figure | None:
    best, last = search.best, search.results.rated_evaluations
    last, trials = last[last["trial"] == best], search.results.trials
    if best is None or last.empty or search.results.of_environment:
        return None
    # By trainings with fresh seeds, or by a judgement.
    others = ~search.lucky["is_default"].astype(bool) & search.lucky["change"].notna()
    checked = bool(others.any() or search.confirmed["gain"].notna().any())
    reward = trials.loc[trials["trial"] == best, "reward"].item()
    beside = not search.table(beside_yardsticks).empty
    return saved(last, search.results.measures, best, checked=checked, reward=reward, beside=beside)


def saved(
    last: pd.DataFrame,
    measures: Mapping[str, Measure],
    best: int,
    checked: bool = False,
    reward: str = "improvement",
    beside: bool = False,
) -> Figure | None:
    question = f"What does the best policy save in {BASIS}?"
    amounts = []
    for measure in measures.values():
        now, before = measure.value(last), measure.value(last, SITE)
        # Comfort is told by itself: where a site keeps set points, any change of it is many times what was.
        if measure.label and not (measure.is_share or COMFORT.is_stated([measure.name])) and now == now and before > 0.0:
            amounts.append({"name": measure.label, "unit": measure.shown_unit, "own": now, "before": before})
            amounts[-1]["is_yearly"] = measure.over == A_YEAR
    if not amounts:
        return None
    changes = savings_of(amounts, "best policy")
    site = uncontrolled("ev_served" in last and bool(last["ev_served"].notna().any()))
    raised = f" and raises {listed(changes.higher)}" if changes.higher else ""
    if changes.lower:
        answer = f"Against {site}, trial {best} lowers {listed(changes.lower)}{raised} on the validation hours."
        answer += f" {_CHOSEN} {_CHECKED if checked else _UNCHECKED}"
    elif changes.higher:
        answer = f"Nothing: against {site}, trial {best} raises {listed(changes.higher)} on the validation hours."
    else:
        answer = f"Nothing: trial {best} is like {site} on the validation hours."
    answer = " ".join([answer, *_comfort(last, measures), *caveats(last, measures, reward)])
    note = (
        f"Scaled from {last['hours'].sum():,.0f} validation hours; the peak is the highest of all. "
        f"The dashed line is the uncontrolled site.{'' if beside else f' {RULES}'}"
    )
    return Figure("saved", question, answer, (changes.panel,), changes.table, note)


def _comfort(rows: pd.DataFrame, measures: Mapping[str, Measure]) -> list[str]:
    """How it is for people, where devices heat or cool them; what they pay is a caveat."""
    discomfort = measures.get("discomfort")
    now, before = (discomfort.value(rows), discomfort.value(rows, SITE)) if discomfort else (math.nan, math.nan)
    text = f"People are too warm or too cold in {percent(now)} of their hours, {percent(before)} without control."
    return [text] if now <= before else []
