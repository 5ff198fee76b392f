"""What counts as the winner of an experiment. Nothing is trained here."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.real_searches.experiments import best_evaluated, recommended
from benchmarks.real_searches.records import RealSearchError
from results.schema import GIVEN
from results.table_files import add_rows, write_rows
from search_spaces.parameter import Kind
from tuning.algorithms.registry import algorithm
from tuning.experiment.folder import create
from tuning.experiment.settings import Settings
from tuning.trial.records import trial_seed

# They have no evaluations of single years, which nothing here reads.
pytestmark = pytest.mark.filterwarnings("ignore:.*it lacks the evaluation.*", "ignore:.*its row counts.*")
SPACE = algorithm("ppo").space
DEFAULT_RATE = 4e-3  # of what confirmations compare with
TYPES = {
    own.name: {Kind.INTEGER: int, Kind.NUMBER: float, Kind.FLAG: bool}.get(own.kind, str) for own in SPACE.parameters
}  # fmt: skip


def experiment(folder: Path, trials: list[tuple[float, list[float], int | None]]) -> Path:
    """An experiment of trials, each with its learning rate, scores after every 100 steps, and which trial it confirms."""
    paths = create(Settings(name="one", dir=str(folder), steps=300, reports=3, backend="batch")).paths
    for number, (rate, scores, confirms) in enumerate(trials):
        row: dict[str, Any] = {
            "trial": number, "state": "complete" if len(scores) == 3 else "frozen", "algorithm": "ppo", "backend": "batch",
            "reward": "improvement", "steps": 100 * len(scores), "budget_steps": 300, "score": scores[-1] if scores else None,
            "confirms": confirms, "confirm_run": None if confirms is None else number,
            "confirm_role": None if confirms is None else "default" if rate == DEFAULT_RATE else "best",
            "seed": trial_seed(0, number, None if confirms is None else number),
        }  # fmt: skip
        row |= {f"{GIVEN}{name}": value for name, value in SPACE.complete({"learning_rate": rate}).items()}
        write_rows(paths.folder, "trials", number, [row], TYPES)
        for index, score in enumerate(scores):
            report = {"trial": number, "update": index, "steps": 100 * (index + 1), "score": score}
            add_rows(paths.folder, "reports", number, [report])
    return paths.folder


def test_the_best_evaluation_of_any_trial_wins_with_its_steps(tmp_path: Path) -> None:
    found = best_evaluated(experiment(tmp_path, [(1e-3, [0.1, 0.2, 0.1], None), (2e-3, [0.3, 0.25], None), (3e-3, [], None)]))
    assert (found.score, found.steps, found.most_steps) == (0.3, 100, 300)
    assert found.hyperparameters == SPACE.complete({"learning_rate": 2e-3})
    assert (found.trials, found.evaluations, found.trained_steps) == (3, 5, 500)


def test_without_a_confirmation_ours_is_the_best_trial_at_its_end(tmp_path: Path) -> None:
    found = recommended(experiment(tmp_path, [(1e-3, [0.4, 0.1, 0.2], None), (2e-3, [0.25, 0.3], None)]))
    assert (found.score, found.steps) == (0.3, 200)
    assert found.hyperparameters["learning_rate"] == 2e-3


def test_ours_is_what_was_best_when_trained_again_though_luckier_ones_are_there(tmp_path: Path) -> None:
    trials: list[tuple[float, list[float], int | None]] = [
        (1e-3, [0.1, 0.1, 0.2], None), (2e-3, [0.3, 0.9], None),
        (1e-3, [0.1, 0.1, 0.3], 0), (2e-3, [0.1, 0.1, 0.2], 1), (1e-3, [0.1, 0.1, 0.5], 0), (2e-3, [0.1, 0.1, 0.4], 1),
    ]  # fmt: skip
    found = recommended(experiment(tmp_path, trials))
    assert (found.score, found.steps) == (pytest.approx(0.4), 300)
    assert found.hyperparameters["learning_rate"] == 1e-3


def test_a_single_training_again_confirms_nothing(tmp_path: Path) -> None:
    found = recommended(experiment(tmp_path, [(1e-3, [0.1, 0.1, 0.2], None), (2e-3, [0.1, 0.1, 0.9], 0)]))
    assert (found.score, found.hyperparameters["learning_rate"]) == (0.2, 1e-3)


def test_the_default_alone_is_no_winner_where_the_time_ended_before_a_second_training_of_another(tmp_path: Path) -> None:
    trials: list[tuple[float, list[float], int | None]] = [
        (DEFAULT_RATE, [0.1, 0.1, 0.2], None), (1e-3, [0.3, 0.3, 0.3], None),
        (DEFAULT_RATE, [0.1, 0.1, 0.2], 0), (1e-3, [0.1, 0.1, 0.4], 1), (DEFAULT_RATE, [0.1, 0.1, 0.2], 0), (1e-3, [0.1], 1),
    ]  # fmt: skip
    found = recommended(experiment(tmp_path / "cut", trials))
    assert (found.score, found.hyperparameters["learning_rate"]) == (0.3, 1e-3)
    found = recommended(experiment(tmp_path / "whole", [*trials[:-1], (1e-3, [0.1, 0.1, 0.1], 1)]))
    assert (found.score, found.hyperparameters["learning_rate"]) == (pytest.approx(0.25), 1e-3)


def test_the_default_wins_where_it_is_better_than_the_other_that_was_trained_again(tmp_path: Path) -> None:
    trials: list[tuple[float, list[float], int | None]] = [
        (DEFAULT_RATE, [0.1, 0.1, 0.2], None), (1e-3, [0.3, 0.3, 0.3], None),
        (DEFAULT_RATE, [0.1, 0.1, 0.2], 0), (1e-3, [0.1, 0.1, 0.1], 1),
        (DEFAULT_RATE, [0.1, 0.1, 0.2], 0), (1e-3, [0.1, 0.1, 0.1], 1),
    ]  # fmt: skip
    found = recommended(experiment(tmp_path, trials))
    assert (found.score, found.hyperparameters["learning_rate"]) == (pytest.approx(0.2), DEFAULT_RATE)


def test_a_search_without_an_evaluation_has_no_winner(tmp_path: Path) -> None:
    folder = experiment(tmp_path, [(1e-3, [], None)])
    for winner in (best_evaluated, recommended):
        with pytest.raises(RealSearchError, match="no trial was evaluated within the time; give a larger --budget"):
            winner(folder)
