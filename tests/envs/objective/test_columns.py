"""An evaluation's columns and rows follow from the list of KPIs alone."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from envs.environments.vector_env import WindowsEnv
from envs.objective.columns import evaluation_columns, evaluation_row
from envs.objective.evaluate import Evaluation, evaluate
from envs.objective.joined_run import JoinedRun
from envs.objective.kpis import KPIS, Bounds, Kpi
from envs.objective.validity import ValidityError
from envs.scenarios.scenario import Window, scenario
from results.judgement import METRICS, YEAR
from results.schema import schema
from results.writer import write_part


@pytest.fixture
def env(small_schema: Path) -> WindowsEnv:
    return WindowsEnv(scenario(str(small_schema)), [Window(0, 24, 48)])


def uncontrolled(env: WindowsEnv) -> Evaluation:
    (found,) = evaluate(env, lambda observations: env.simulator.uncontrolled_actions())
    return found


def mean_import(run: JoinedRun) -> float:
    return float(run.import_kwh.mean())


def test_a_row_has_exactly_the_columns(env: WindowsEnv) -> None:
    row = evaluation_row(uncontrolled(env))
    assert list(row) == ["year", "hours", "score", *evaluation_columns()]
    assert row["hours"] == 48


def test_no_column_is_one_of_the_tables_own() -> None:
    names = schema("evaluations", measures=evaluation_columns()).names
    assert len(names) == len(set(names)) == len(schema("evaluations").names) + len(evaluation_columns())


def test_a_kpi_is_one_entry(env: WindowsEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry alone makes the KPI computed, checked and written with its unit and meaning."""
    monkeypatch.setitem(KPIS, "mean_import_kwh", Kpi("mean_import_kwh", "kWh", "mean import of an hour", mean_import))
    found = uncontrolled(env)
    assert found.kpis["mean_import_kwh"] == pytest.approx(found.kpis["import_kwh"] / 48)

    path = tmp_path / "part.parquet"
    write_part(path, "evaluations", [evaluation_row(found)], measures=evaluation_columns())
    table = pq.read_table(path)
    assert table["mean_import_kwh"].to_pylist() == [found.kpis["mean_import_kwh"]]
    assert table["uncontrolled_mean_import_kwh"].to_pylist() == [found.uncontrolled["mean_import_kwh"]]
    assert table.schema.field("mean_import_kwh").metadata == {b"unit": b"kWh", b"meaning": b"mean import of an hour"}

    # Nothing imports less than zero, so this bound must fail.
    tight = Kpi("mean_import_kwh", "kWh", "mean import of an hour", mean_import, Bounds(high=-1.0))
    monkeypatch.setitem(KPIS, "mean_import_kwh", tight)
    with pytest.raises(ValidityError, match="mean_import_kwh"):
        uncontrolled(env)


def test_the_judgement_gives_kpis_their_own_units() -> None:
    """Judgements aggregate KPIs over years, so meanings differ and units do not."""
    shared = METRICS.keys() & KPIS.keys()
    assert shared == {"import_kwh", "co2_kg", "bill", "peak_kw", "self_consumption"}
    assert {name: METRICS[name][0] for name in shared} == {name: KPIS[name].unit for name in shared}
    assert YEAR == 8760
