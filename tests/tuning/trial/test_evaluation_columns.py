"""An evaluation fills columns of its table, and of each KPI the uncontrolled site's beside it."""

from dataclasses import fields

from envs.objective.evaluate import CITYLEARN_RATIOS, Evaluation
from envs.objective.kpis import Kpis
from envs.objective.reward import WEIGHTS
from results.schema import schema
from tuning.trial.evaluation_columns import evaluation_columns


def filled(start: float) -> Kpis:
    values = {field.name: start + number for number, field in enumerate(fields(Kpis))}
    return Kpis(**values)  # type: ignore[arg-type]


def test_every_column_is_one_of_the_table() -> None:
    terms, ratios = dict.fromkeys(WEIGHTS, 0.1), dict.fromkeys(CITYLEARN_RATIOS, 1.0)
    columns = evaluation_columns(Evaluation(2, 0.5, terms, filled(100.0), filled(500.0), ratios))
    assert set(columns) <= {field.name for field in schema("evaluations")}
    assert (columns["year"], columns["score"], columns["term_co2"]) == (2, 0.5, 0.1)
    # Both ran through the same hours, which are there once.
    assert "uncontrolled_hours" not in columns
    compared = [field.name for field in fields(Kpis) if field.name != "hours"]
    assert all(columns[f"uncontrolled_{name}"] - columns[name] == 400.0 for name in compared)
