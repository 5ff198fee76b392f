"""An evaluation's columns and rows follow from the list of KPIs alone."""

from pathlib import Path

import pytest

from common.measure import Measure
from envs.environments.vector_env import WindowsEnv
from envs.objective.columns import ALIASES, evaluation_columns, evaluation_row, measures
from envs.objective.evaluate import Evaluation, ValidityError, evaluate
from envs.objective.kpis import KPIS, Bounds, Kpi
from envs.scenarios.scenario import Window, scenario
from results.schema import schema


@pytest.fixture
def env(small_schema: Path) -> WindowsEnv:
    return WindowsEnv(scenario(str(small_schema)), [Window(0, 24, 48)])


def uncontrolled(env: WindowsEnv) -> Evaluation:
    (found,) = evaluate(env, lambda observations: env.simulator.uncontrolled_actions())
    return found


def test_a_row_has_exactly_the_columns(env: WindowsEnv) -> None:
    row = evaluation_row(uncontrolled(env))
    assert list(row) == ["year", "hours", "score", *evaluation_columns()]
    assert row["hours"] == 48


def test_no_column_is_one_of_the_tables_own() -> None:
    names = schema("evaluations", measures=evaluation_columns()).names
    assert len(names) == len(set(names)) == len(schema("evaluations").names) + len(evaluation_columns())


def test_what_can_be_aimed_at_is_the_score_every_kpi_and_every_ratio() -> None:
    own = [name for name in evaluation_columns() if not name.startswith(("term_", "uncontrolled_", "changed_"))]
    assert list(measures()) == ["score", *own]


def test_short_names_are_of_measures_and_hide_none() -> None:
    assert set(ALIASES.values()) <= set(measures())
    assert not set(ALIASES) & set(measures())


def test_a_kpi_out_of_its_bounds_is_refused(env: WindowsEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    # Nothing imports less than zero, so this bound must fail.
    tight = Kpi(Measure("least_kwh", "kWh", "import"), lambda run: float(run.import_kwh.mean()), Bounds(high=-1.0))
    monkeypatch.setitem(KPIS, "least_kwh", tight)
    with pytest.raises(ValidityError, match="least_kwh"):
        uncontrolled(env)
