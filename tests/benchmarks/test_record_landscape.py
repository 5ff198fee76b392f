"""How finished trials are packed into a landscape. Nothing is trained here."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.record_landscape import packed
from results.schema import GIVEN
from results.table_files import add_rows, write_rows
from search_spaces.parameter import Kind
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings


def recorded(folder: Path, name: str, rates: list[float], space: str = "") -> Path:
    """An experiment with a complete trial for each learning rate, and one that runs."""
    paths = create(Settings(name=name, dir=str(folder), steps=500_000, evaluations=2)).paths
    if space:
        paths.space.write_text(space)
    types = {Kind.INTEGER: int, Kind.NUMBER: float, Kind.FLAG: bool}
    kinds = {parameter.name: types.get(parameter.kind, str) for parameter in algorithm("ppo").space.parameters}
    given = {f"{GIVEN}{parameter.name}": parameter.default for parameter in algorithm("ppo").space.parameters}
    for number, rate in enumerate([*rates, 1e-3]):
        row: dict[str, Any] = {
            "trial": number, "state": "complete" if number < len(rates) else "running", "algorithm": "ppo", "steps": 500_000,
            "budget_steps": 500_000, "environment_seconds": 1.0, "learner_seconds": 1.0 + number,
        }  # fmt: skip
        row |= given | {f"{GIVEN}learning_rate": rate}
        write_rows(paths.folder, "trials", number, [row], kinds)
        rows = [
            {"trial": number, "update": update, "steps": 250_000 * update, "score": rate * update, "cpu_cores": 0.5}
            for update in (1, 2)
        ]
        add_rows(paths.folder, "reports", number, rows)
    return paths.folder


@pytest.mark.filterwarnings("ignore:.*it lacks the evaluation")  # the table of KPIs is not read here
def test_finished_trials_of_several_experiments_become_one_landscape(tmp_path: Path) -> None:
    flags = "shared_policy = {choices = [true, false]}\n"
    folders = [recorded(tmp_path, "a", [5e-4, 1e-3], flags), recorded(tmp_path, "b", [2e-4])]
    land = packed("both", folders)
    assert [point["learning_rate"] for point in land.points] == [5e-4, 1e-3, 2e-4]
    assert [point["log2_n_steps"] for point in land.points] == [12, 12, 12]
    assert "shared_policy" in land.distributions
    assert land.steps.tolist() == [250_000, 500_000]
    assert land.ratings[:, 0, 1] == pytest.approx([1e-3, 2e-3, 4e-4])
    assert land.costs == pytest.approx([1.0, 1.5, 1.0])
    assert land.default == 0
