"""Tests of how surprises of the model are measured."""

from dataclasses import replace

import numpy as np

from benchmarks.replay.calibration import surprises
from benchmarks.replay.landscape import made


def test_the_model_does_not_see_an_end_that_it_predicts() -> None:
    land = made(0, 70)
    before = surprises(land, 0)
    predicted = 0
    for assignment in range(0, 70, 7):
        ratings = land.ratings.copy()
        ratings[assignment, :, -1] += 1.0
        after = surprises(replace(land, ratings=ratings), 0)
        changed = [after[name][0] - before[name][0] for name in ("frozen", "not begun")]
        higher = np.flatnonzero(np.concatenate(changed))
        if len(higher) == 1:  # else it was trained to its end, and all others are predicted from it
            predicted += 1
            assert np.concatenate(changed)[higher] > 0
    assert predicted >= 6
