"""Tests of the command that replays."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.replay.__main__ import Options, ReplayError, landscape, regrets
from benchmarks.replay.landscape import made, save

LAND = made(0, assignments=12, columns=3)


@pytest.fixture
def ends_early(tmp_path: Path) -> str:
    ratings = LAND.ratings.copy()
    ratings[1:6, :, 12:] = np.nan
    save(replace(LAND, ratings=ratings), tmp_path / "early.parquet")
    return str(tmp_path / "early.parquet")


def test_curves_that_end_early_are_replayed_by_their_surrogate_alone(ends_early: str) -> None:
    with pytest.raises(ReplayError, match=re.escape(f"surrogate:{ends_early}")):
        landscape(ends_early)
    found = regrets(Options((f"surrogate:{ends_early}",), seeds=2, budgets=(1.0, 2.0), searchers=("random",)))
    assert list(found) == ["surrogate of made 0 (12 assignments, 3 seeds, preliminary)"]
    assert np.shape(found["surrogate of made 0 (12 assignments, 3 seeds, preliminary)"]["random"]) == (2, 2)


def test_a_file_goes_on_with_the_same_budgets_alone(tmp_path: Path) -> None:
    path = tmp_path / "regrets.json"
    options = Options(("made:0",), seeds=1, searchers=("random",), json=path)
    first = regrets(options)
    assert json.loads(path.read_text(encoding="utf-8"))["regrets"] == first
    assert len(regrets(replace(options, seeds=2))["made 0 (120 assignments, 3 seeds)"]["random"]) == 2
    with pytest.raises(ReplayError, match="other budgets"):
        regrets(replace(options, budgets=(1.0,)))
