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
    paths = create(Settings(name="one", dir=str(folder), steps=300, evaluations=3, backend="batch")).paths
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


CUT = [
    (DEFAULT_RATE, [0.1, 0.1, 0.2], None), (1e-3, [0.3, 0.3, 0.3], None),
    (DEFAULT_RATE, [0.1, 0.1, 0.2], 0), (1e-3, [0.1, 0.1, 0.4], 1), (DEFAULT_RATE, [0.1, 0.1, 0.2], 0),
]  # fmt: skip
LUCKY = [(1e-3, [0.1, 0.1, 0.2], None), (2e-3, [0.3, 0.9], None), *((1e-3, [0.1, 0.1, score], 0) for score in (0.3, 0.5))]


@pytest.mark.parametrize(
    ("trials", "score", "steps", "rate"),
    [
        # Without a confirmation it is the best trial at its end.
        ([(1e-3, [0.4, 0.1, 0.2], None), (2e-3, [0.25, 0.3], None)], 0.3, 200, 2e-3),
        # What was best when trained again, though luckier ones are there.
        ([*LUCKY, *((2e-3, [0.1, 0.1, score], 1) for score in (0.2, 0.4))], 0.4, 300, 1e-3),
        # A single training again confirms nothing.
        ([(1e-3, [0.1, 0.1, 0.2], None), (2e-3, [0.1, 0.1, 0.9], 0)], 0.2, 300, 1e-3),
        # The default alone is no winner where the time ended before a second training of another.
        ([*CUT, (1e-3, [0.1], 1)], 0.3, 300, 1e-3),
        ([*CUT, (1e-3, [0.1, 0.1, 0.1], 1)], 0.25, 300, 1e-3),
        # It wins where it is better than the other that was trained again.
        ([*CUT[:3], (1e-3, [0.1, 0.1, 0.1], 1), CUT[4], (1e-3, [0.1, 0.1, 0.1], 1)], 0.2, 300, DEFAULT_RATE),
    ],
)
def test_what_ours_recommends(tmp_path: Path, trials: list[Any], score: float, steps: int, rate: float) -> None:
    found = recommended(experiment(tmp_path, trials))
    assert (found.score, found.steps, found.hyperparameters["learning_rate"]) == (pytest.approx(score), steps, rate)


def test_a_search_without_an_evaluation_has_no_winner(tmp_path: Path) -> None:
    folder = experiment(tmp_path, [(1e-3, [], None)])
    for winner in (best_evaluated, recommended):
        with pytest.raises(RealSearchError, match="no trial was evaluated within the time; give a larger --budget"):
            winner(folder)
