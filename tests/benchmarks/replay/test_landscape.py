from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.replay.landscape import gathered, load, made, save


def test_a_saved_landscape_is_read_as_it_was(tmp_path: Path) -> None:
    land = replace(made(0, assignments=12), starts=(0, 3))
    save(land, tmp_path / "made.parquet")
    read = load(tmp_path / "made.parquet")
    assert read.points == land.points
    assert read.distributions == land.distributions
    assert read.steps.tolist() == land.steps.tolist()
    assert read.ratings == pytest.approx(land.ratings, rel=1e-6)
    assert (read.name, read.starts, read.default) == (land.name, (0, 3), 0)
    assert (tmp_path / "made.parquet").stat().st_size < 12 * 5000


def test_regret_is_0_at_the_best_end_and_1_at_the_median_one() -> None:
    land = made(1, assignments=21)
    ends = land.means[:, -1]
    assert land.regret(ends.max()) == 0.0
    assert land.regret(ends.max() + 1.0) == 0.0
    assert land.regret(float(np.median(ends))) == pytest.approx(1.0)
    assert land.regret(-1e9) == 2.0


def test_trainings_of_one_point_are_its_seeds() -> None:
    curves = np.array([[0.1, 0.2], [0.5, 0.6], [0.3, 0.4], [0.1, 0.2]])
    points, ratings, costs = gathered([{"x": 1.0}, {"x": 2.0}, {"x": 1.0}, {"x": 1.0}], curves, np.array([1.0, 5.0, 3.0, 1.0]))
    assert points == [{"x": 1.0}, {"x": 2.0}]
    assert np.array_equal(ratings, [[[0.1, 0.2], [0.3, 0.4]], [[0.5, 0.6], [np.nan, np.nan]]], equal_nan=True)
    assert costs.tolist() == [2.0, 5.0]  # the last one was given twice
