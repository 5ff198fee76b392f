"""A KPI is one entry: all that reads KPIs finds it there, or in the files."""

import io
from collections.abc import Iterator
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from common.measure import Measure
from envs.environments.vector_env import WindowsEnv
from envs.objective.aim import Aim
from envs.objective.columns import evaluation_columns, evaluation_row
from envs.objective.evaluate import evaluate
from envs.objective.kpis import KPIS, JoinedRun, Kpi
from envs.scenarios.scenario import Window, scenario
from results import load
from results.analysis import compare, pareto_front
from results.judgement import judgement, to_markdown
from results.report import write
from results.table_files import add_rows, rows_path, write_file, write_rows
from tuning.cli.summary import print_summary

NAME = "night_import_kwh"
HOURS = 48


def night_import(run: JoinedRun) -> float:
    return float(run.import_kwh[:, ::2].sum())


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Measure]:
    """The one entry."""
    measure = Measure(NAME, "kWh", "import of every second hour", label="night import")
    # What other tests of this process have evaluated lacks it.
    monkeypatch.setattr("envs.objective.evaluate._UNCONTROLLED", WeakKeyDictionary())
    monkeypatch.setitem(KPIS, NAME, Kpi(measure, night_import))
    evaluation_columns.cache_clear()
    yield measure
    evaluation_columns.cache_clear()


@pytest.fixture
def folder(toy: Measure, small_schema: Path, tmp_path: Path) -> Path:
    """A search of two trials, the second of which imports a tenth less by night; and a judgement of it."""
    env = WindowsEnv(scenario(str(small_schema)), [Window(0, 24, HOURS)])
    (evaluation,) = evaluate(env, lambda observations: env.simulator.uncontrolled_actions())
    row = {**evaluation_row(evaluation), "steps": 100, "split": "validation", "backend": "batch"}
    for number, factor in enumerate((1.0, 0.9)):
        trial = {"trial": number, "state": "complete", "score": row["score"] + number, "steps": 100, "seconds": 9.0}
        measured = [{**row, "trial": number, NAME: factor * row[NAME]}]
        write_rows(tmp_path / "search", "trials", number, [{**trial, "evaluation_seconds": 1.0}])
        add_rows(tmp_path / "search", "evaluations", number, measured, measures=evaluation_columns())
        judged = [{**measured[0], "contender": f"search {number}", "algorithm": "ppo", "seed": 1, "split": "test"}]
        path = rows_path(tmp_path / "judged", "evaluations", number)
        write_file(path, judged, measures=evaluation_columns())
    return tmp_path


@pytest.mark.filterwarnings("ignore:.*lack")
def test_a_kpi_is_one_entry(toy: Measure, folder: Path) -> None:
    results, judged = load(folder / "search"), load(folder / "judged")
    value = toy.value(results.evaluations[results.evaluations["trial"] == 1])
    # In rows and the files' metadata, from where all of `results` has it.
    path = rows_path(folder / "search", "evaluations", 0)
    assert np.isfinite(pq.read_table(path)[f"uncontrolled_{NAME}"][0].as_py())
    assert results.measures[NAME] == toy
    # As objective and requirement.
    aim = Aim.parse(objective=NAME, require=(f"{NAME}<=1",))
    assert aim.outcome([dict(row) for _, row in results.evaluations.iloc[1:].iterrows()]).objective == pytest.approx(value)
    # On a front, with its direction.
    front = pareto_front(results, [NAME, "ev_missing_kwh"]).set_index("trial")
    assert front.loc[1, NAME] == pytest.approx(value)
    assert front["on_front"].to_dict() == {0: False, 1: True}
    # In the tables of a search, of several and of a judgement, and in the report.
    out = io.StringIO()
    print_summary(results, Console(file=out, width=120))
    assert any(line.split()[:2] == ["night", "import,"] and line.endswith("-10.0%") for line in out.getvalue().splitlines())
    assert compare([results])[f"{NAME}_change"].iloc[0] == pytest.approx(-0.1)
    table = judgement(judged.evaluations, judged.measures).set_index("contender")
    assert table.loc["search 1", NAME] == pytest.approx(value)
    assert "| night import, " in to_markdown(table.reset_index())
    page = write([folder / "search"], to=folder / "report.html").read_text(encoding="utf-8")
    assert "night import by 10.0 %" in page
