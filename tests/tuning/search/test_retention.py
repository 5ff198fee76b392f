"""Ended trials keep their checkpoints only if they are among the best."""

import math
from pathlib import Path

import pytest

from tuning.experiment.folder import ExperimentPaths
from tuning.search.retention import Retention


def with_checkpoints(folder: Path, count: int) -> ExperimentPaths:
    paths = ExperimentPaths(folder)
    for number in range(count):
        (paths.checkpoints(number) / "000000000100").mkdir(parents=True)
        (paths.checkpoints(number) / "replay").mkdir()
    return paths


def left(paths: ExperimentPaths, count: int) -> list[int]:
    return [number for number in range(count) if paths.checkpoints(number).exists()]


def test_the_best_stay_whatever_the_order_in_which_they_end(tmp_path: Path) -> None:
    paths = with_checkpoints(tmp_path, 6)
    retention = Retention(paths, 2, {0: 0.5})
    for number, score, kept in ((1, 0.3, [0, 1]), (2, 0.4, [0, 2]), (3, None, [0, 2]), (4, 0.4, [0, 2])):
        retention.ended(number, score)
        # Trial 5 is still running.
        assert left(paths, 6) == [*kept, *range(number + 1, 5), 5]
    assert left(paths, 6) == [0, 2, 5]


@pytest.mark.parametrize(("kept", "expected"), [(0, []), (1, [1]), (math.inf, [0, 1])])
def test_what_ended_before_is_looked_through_at_the_start(tmp_path: Path, kept: float, expected: list[int]) -> None:
    paths = with_checkpoints(tmp_path, 4)
    retention = Retention(paths, kept, {0: 0.1, 1: 0.2, 2: math.nan, 3: None})
    assert left(paths, 4) == [0, 1, 2, 3]
    retention.enforce()
    assert left(paths, 4) == expected


def test_a_trial_that_ends_again_has_its_new_score(tmp_path: Path) -> None:
    paths = with_checkpoints(tmp_path, 2)
    retention = Retention(paths, 1, {})
    retention.ended(0, 0.5)
    retention.ended(0, 0.1)
    retention.ended(1, 0.2)
    assert left(paths, 2) == [1]
