"""Columns of the `evaluations` table."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from envs.objective.evaluate import Evaluation


def evaluation_columns(evaluation: Evaluation) -> dict[str, Any]:
    """Columns of the `evaluations` table that an evaluation fills."""
    uncontrolled = asdict(evaluation.uncontrolled)
    del uncontrolled["hours"]
    return {
        "year": evaluation.year,
        "score": evaluation.score,
        **{f"term_{name}": value for name, value in evaluation.terms.items()},
        **asdict(evaluation.kpis),
        **{f"uncontrolled_{name}": value for name, value in uncontrolled.items()},
        **evaluation.citylearn,
    }
