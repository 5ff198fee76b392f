"""Columns and rows of evaluations, as `results.schema` takes them: reward terms, KPIs and CityLearn's ratios."""

from __future__ import annotations

from typing import Any

from envs.objective.citylearn_ratios import RATIOS, SCORE_2022
from envs.objective.evaluate import Evaluation
from envs.objective.kpis import KPIS
from envs.objective.reward import TERMS

_TERMS = {
    "co2": "mean weighted term of the improvement reward: emission",
    "cost": "likewise: cost",
    "solar": "likewise: PV energy used on site",
    "grid": "likewise: changes of net import",
    "ev": "likewise: energy missing in leaving vehicles",
    "peak": "likewise: the days' highest imports",
}

CHANGED = "changed_kwh"


def evaluation_columns() -> dict[str, tuple[str, str, str]]:
    """Arrow type, unit and meaning of what an evaluation measures, by column and in their order."""
    return {
        **{f"term_{name}": ("float64", "1", _TERMS[name]) for name in TERMS},
        **{name: (kpi.kind, kpi.unit, kpi.meaning) for name, kpi in KPIS.items()},
        **{
            f"uncontrolled_{name}": (kpi.kind, kpi.unit, f"the same of the uncontrolled run: {kpi.meaning}")
            for name, kpi in KPIS.items()
        },
        CHANGED: ("float64", "kWh", "difference of net import from the uncontrolled run, summed over hours and buildings"),
        **{
            column: ("float64", "1", f"CityLearn's ratio {name}; its baseline charges no vehicle")
            for column, name in RATIOS.items()
        },
        SCORE_2022: ("float64", "1", "score of the CityLearn Challenge 2022: mean of cost, emission and grid; less is better"),
    }


def evaluation_row(evaluation: Evaluation) -> dict[str, Any]:
    """Year, hours, score and `evaluation_columns` of an evaluation."""
    return {
        "year": evaluation.year,
        "hours": evaluation.hours,
        "score": evaluation.score,
        **{f"term_{name}": value for name, value in evaluation.terms.items()},
        **evaluation.kpis,
        **{f"uncontrolled_{name}": value for name, value in evaluation.uncontrolled.items()},
        CHANGED: evaluation.changed_kwh,
        **evaluation.citylearn,
    }
