"""What an evaluation measures, its columns and rows: score, reward terms, KPIs and CityLearn's ratios."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from common.measure import BY_HOURS, SCORE, SITE, Measure
from envs.objective.evaluate import Evaluation
from envs.objective.kpis import CITYLEARN, KPIS
from envs.objective.reward import TERMS

CHANGED = "changed_kwh"
# Short names that can mean nothing else. A peak may be that of a year or of the days, a cost with or without demand charge.
ALIASES: Mapping[str, str] = {"co2": "co2_kg", "ramping": "ramping_kwh"}


def measures(currency: str = "") -> dict[str, Measure]:
    """What a search can aim at, by name: the score, every KPI, and CityLearn's ratios; bills in a money, if it is known."""
    listed = [SCORE, *(kpi.measure for kpi in KPIS.values()), *CITYLEARN.values()]
    return {measure.name: measure.paid_in(currency) for measure in listed}


@lru_cache(maxsize=8)
def evaluation_columns(currency: str = "") -> Mapping[str, Measure]:
    """What stands in a row beside the table's own columns, in their order; bills as those of `measures`."""
    aims = measures(currency)
    weighted = "weighted term of the reward"
    changed = "difference of net import from the uncontrolled run, summed over hours and buildings"
    listed = [
        *(Measure(f"term_{name}", "1", f"{weighted}: {term.meaning}", "neither", BY_HOURS) for name, term in TERMS.items()),
        *(aims[name] for name in KPIS),
        *(_uncontrolled(aims[name]) for name in KPIS),
        Measure(CHANGED, "kWh", changed, "neither"),
        *(aims[name] for name in CITYLEARN),
    ]
    return {measure.name: measure for measure in listed}


def _uncontrolled(measure: Measure) -> Measure:
    over = SITE + measure.over if measure.is_share else measure.over
    meaning = f"the same of the uncontrolled run: {measure.meaning}"
    return replace(measure, name=SITE + measure.name, meaning=meaning, better="neither", over=over, label="")


def evaluation_row(evaluation: Evaluation) -> dict[str, Any]:
    """Year, hours, score and `evaluation_columns` of an evaluation."""
    return {
        "year": evaluation.year,
        "hours": evaluation.hours,
        "score": evaluation.score,
        **{f"term_{name}": value for name, value in evaluation.terms.items()},
        **evaluation.kpis,
        **{SITE + name: value for name, value in evaluation.uncontrolled.items()},
        CHANGED: evaluation.changed_kwh,
        **evaluation.citylearn,
    }
