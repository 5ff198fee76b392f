"""Ended trials keep their checkpoints only if they are among the best, frozen ones only their newest."""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tuning.experiment.folder import ExperimentPaths
from tuning.search.promotion.retention import Retention, not_kept
from tuning.trial.checkpoint import Checkpoints
from tuning.trial.checkpoint_files import TrialState


def with_checkpoints(folder: Path, count: int) -> ExperimentPaths:
    paths = ExperimentPaths(folder)
    for number in range(count):
        (paths.checkpoints(number) / "000000000100").mkdir(parents=True)
        (paths.checkpoints(number) / "replay").mkdir()
    return paths


def left(paths: ExperimentPaths, count: int) -> list[int]:
    return [number for number in range(count) if paths.checkpoints(number).exists()]


def test_the_best_keep_theirs_in_any_order_of_their_ends(tmp_path: Path) -> None:
    paths = with_checkpoints(tmp_path, 6)
    retention = Retention(paths, 2, {0: 0.5})
    for number, score, kept in ((1, 0.3, [0, 1]), (2, 0.4, [0, 2]), (3, None, [0, 2]), (4, 0.4, [0, 2])):
        retention.on_ended(number, score)
        # Trial 5 is still running.
        assert left(paths, 6) == [*kept, *range(number + 1, 5), 5]
    assert left(paths, 6) == [0, 2, 5]


@pytest.mark.parametrize(("kept", "expected"), [(0, []), (1, [1]), (math.inf, [0, 1])])
def test_to_construct_it_removes_nothing_and_to_enforce_it_does(tmp_path: Path, kept: float, expected: list[int]) -> None:
    paths = with_checkpoints(tmp_path, 4)
    retention = Retention(paths, kept, {0: 0.1, 1: 0.2, 2: math.nan, 3: None})
    assert left(paths, 4) == [0, 1, 2, 3]
    retention.enforce()
    assert left(paths, 4) == expected


def test_a_trial_that_ends_again_has_its_new_score(tmp_path: Path) -> None:
    paths = with_checkpoints(tmp_path, 2)
    retention = Retention(paths, 1, {})
    retention.on_ended(0, 0.5)
    retention.on_ended(0, 0.1)
    retention.on_ended(1, 0.2)
    assert left(paths, 2) == [1]


def test_a_frozen_trial_keeps_its_newest_checkpoint_alone(tmp_path: Path) -> None:
    paths = ExperimentPaths(tmp_path)
    trainer = SimpleNamespace(replay=None, get_state=lambda: {"weights": np.zeros(3)})
    for number in range(3):
        for steps in (100, 200):
            Checkpoints(paths.checkpoints(number)).save(trainer, TrialState(steps=steps))  # type: ignore[arg-type]
    # Trial 1 is frozen now, trial 2 was when a run was killed, and trial 0 runs.
    retention = Retention(paths, 0, {}, [2])
    retention.on_frozen(1)
    assert [len(list(paths.checkpoints(number).iterdir())) for number in range(3)] == [2, 1, 2]
    retention.on_ended(3, None)
    assert [len(list(paths.checkpoints(number).iterdir())) for number in range(3)] == [2, 1, 2]
    retention.enforce()
    assert [len(list(paths.checkpoints(number).iterdir())) for number in range(3)] == [2, 1, 1]
    assert Checkpoints(paths.checkpoints(2)).steps == 200


def test_of_equal_scores_the_earlier_trial_is_kept() -> None:
    assert not_kept({3: 0.5, 1: 0.5, 2: 0.5}, 2) == {3}


def test_trials_without_a_finite_score_are_never_kept() -> None:
    assert not_kept({0: None, 1: math.nan, 2: math.inf, 3: 0.1}, math.inf) == {0, 1, 2}


def test_what_is_on_a_front_keeps_its_checkpoints_as_long_as_it_is_there(tmp_path: Path) -> None:
    paths, front = with_checkpoints(tmp_path, 3), [0]
    retention = Retention(paths, 1, {}, spared=lambda: front)
    for number, score in enumerate((0.1, 0.3, 0.2)):
        retention.on_ended(number, score)
    assert left(paths, 3) == [0, 1]
    front.remove(0)
    retention.enforce()
    assert left(paths, 3) == [1]
