"""How a landscape is recorded: the commands, and how finished trials are packed. Nothing is trained here."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution

from benchmarks import record_landscape
from benchmarks.record_landscape import NEAR, LandscapeError, Options, joined, narrow_space, packed
from benchmarks.replay.landscape import Landscape, load
from results.schema import GIVEN
from results.table_files import add_rows, write_rows
from search_spaces.overrides import override
from search_spaces.parameter import Kind
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings


def recorded(folder: Path, name: str, rates: list[float], space: str = "") -> Path:
    """An experiment with a complete trial for each learning rate, and one that runs."""
    paths = create(Settings(name=name, dir=str(folder), steps=500_000, reports=2)).paths
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


def test_the_narrow_space_is_valid_and_holds_the_default(tmp_path: Path) -> None:
    (tmp_path / "near.toml").write_text(narrow_space())
    space = override(algorithm("ppo").space, tmp_path / "near.toml")
    assert all(NEAR[name][0] <= space[name].default <= NEAR[name][1] for name in NEAR if name != "ent_coef")  # type: ignore[operator]


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


@pytest.mark.filterwarnings("ignore:.*it lacks the evaluation")
def test_a_landscape_is_begun_and_added_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_landscape, "FOLDER", tmp_path / "landscapes")
    first, second = recorded(tmp_path, "a", [5e-4, 1e-3]), recorded(tmp_path, "b", [5e-4, 2e-4])
    with pytest.raises(LandscapeError, match="there is no landscape to add to"):
        record_landscape.main(Options(name="site", packed=(first,), add=True))
    record_landscape.main(Options(name="site", packed=(first,)))
    path = record_landscape.main(Options(name="site", packed=(second,), add=True))
    assert [point["learning_rate"] for point in load(path).points] == [5e-4, 1e-3, 2e-4]


def part(rates: list[float], **changes: Any) -> Landscape:
    """A landscape of a learning rate and a constant flag, of which the first assignment is the default."""
    plain = Landscape(
        "site",
        [{"learning_rate": rate, "flag": 0} for rate in rates],
        {"learning_rate": FloatDistribution(0, 1), "flag": FloatDistribution(0, 1)},
        np.array([100, 200]),
        np.array(rates)[:, None, None] * np.ones((1, 1, 2)),
        np.arange(1.0, 1.0 + len(rates)),
        (0,),
    )
    return replace(plain, **changes)


def test_a_part_adds_the_assignments_that_are_new() -> None:
    added = replace(
        part([0.1, 0.4]),
        points=[{"learning_rate": 0.1}, {"learning_rate": 0.4}],
        distributions={"learning_rate": FloatDistribution(0, 1)},
    )
    land = joined(part([0.1, 0.2]), added)
    assert [point["learning_rate"] for point in land.points] == [0.1, 0.2, 0.4]
    assert land.ratings.shape == (3, 1, 2)  # the training of the default is the same in both
    assert land.ratings[:, 0, 1].tolist() == [0.1, 0.2, 0.4]
    assert land.costs.tolist() == [1, 2, 2]
    assert land.default == 0
    assert list(land.distributions) == ["learning_rate"]


def test_another_training_in_a_part_is_another_seed() -> None:
    added = part([0.1, 0.4])
    land = joined(part([0.1, 0.2]), replace(added, ratings=added.ratings + 0.5))
    assert land.ratings[0, :, 1].tolist() == [0.1, 0.6]
    assert np.isnan(land.ratings[1:, 1]).all()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"starts": ()}, "first trial is the default"),
        ({"steps": np.array([50, 100])}, "evaluations differ"),
        (
            {"distributions": {"learning_rate": FloatDistribution(0, 2), "flag": FloatDistribution(0, 1)}},
            "ranges of learning_rate",
        ),
        ({"distributions": {"flag": FloatDistribution(0, 1)}}, "learning_rate is searched in one part"),
    ],
)
def test_parts_that_do_not_go_together_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(LandscapeError, match=said):
        joined(part([0.1, 0.2]), part([0.3], **changes))


def test_the_order_of_choices_means_nothing() -> None:
    ranges = [{"learning_rate": FloatDistribution(0, 1), "flag": CategoricalDistribution(order)} for order in ((0, 1), (1, 0))]
    land = joined(part([0.1], distributions=ranges[0]), part([0.2], distributions=ranges[1]))
    assert land.distributions == ranges[0]
    with pytest.raises(LandscapeError, match="ranges of flag differ"):
        joined(land, part([0.3], distributions=ranges[1] | {"flag": CategoricalDistribution((0, 2))}))
