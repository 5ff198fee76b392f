"""The notebook of the docs runs from its first cell to its last, on an experiment with a known answer."""

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from nbclient import NotebookClient

from results.table_files import add_rows, write_rows
from tests.results import made

NOTEBOOK = Path(__file__).parents[2] / "docs" / "results.ipynb"


@pytest.fixture(scope="module")
def notebook() -> nbformat.NotebookNode:
    return nbformat.reads(NOTEBOOK.read_text(encoding="utf-8"), as_version=4)


def write_experiment(folder: Path) -> None:
    """Write a made-up search as files, as a run would."""
    found = made.search(folder, 16)
    for row in filled(found.trials):
        write_rows(folder, "trials", row["trial"], [row], hyperparameters=made.KINDS)
    for trial, rows in found.reports.groupby("trial"):
        add_rows(folder, "reports", trial, filled(rows))
    for trial, rows in found.evaluations.groupby("trial"):
        measured = [dict.fromkeys(made.MEASURES, 1.0) | row for row in filled(rows)]
        later = [row | {"steps": row["steps"] + 1, "co2_kg": 0.0} for row in measured]  # none that counts
        add_rows(folder, "evaluations", trial, [*measured, *later], measures=made.MEASURES)


def filled(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows without what is empty in them."""
    return [
        {str(name): value for name, value in row.items() if value is not None and not pd.isna(value)}
        for row in rows.to_dict("records")
    ]


def test_the_notebook_runs(notebook: nbformat.NotebookNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    # A notebook runs in its own folder. What it would make itself is there already.
    write_experiment(tmp_path / "experiments" / "hood")
    own = tmp_path / "docs"
    own.mkdir()
    run = NotebookClient(notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(own)}}).execute()
    said = "".join(output.text for output in run.cells[-1].outputs)
    best = re.search(r"Trial (\d+) scores \+0\.(\d+)", said)
    assert best, said
    assert any("co2_kg: +0.0%" in output.get("text", "") for cell in run.cells for output in cell.get("outputs", ()))
    # The made-up score is decided by shared_policy, so the best has it.
    assert made.drawn(int(best[1]))["shared_policy"]


def test_no_output_holds_a_path_of_a_machine_or_an_error() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert re.findall(r"(?<![\w.])/(?:tmp|root|home|work|Users)/\S*", text) == []
    outputs = [output for cell in json.loads(text)["cells"] for output in cell.get("outputs", [])]
    assert outputs
    assert {output["output_type"] for output in outputs} <= {"stream", "execute_result", "display_data"}
    assert {output.get("name") for output in outputs} <= {None, "stdout"}
