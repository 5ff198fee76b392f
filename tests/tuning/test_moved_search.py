"""A search that begins in a folder, moves to a storage and goes on there decides, and knows, what one does that stays.

As in `test_killed_stored_driver.py`, trials are made up, and processes die at one of their operations.
"""

from __future__ import annotations

import math
import os
import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from common.errors import UsageError
from common.storage.location import Location, location
from results import load
from tests.tuning import test_killed_driver as local
from tests.tuning import test_killed_stored_driver as stored
from tests.tuning.killed_search import compare
from tuning.experiment.folder import Experiment
from tuning.storage import lease
from tuning.storage.stored_experiment import experiment_at, is_stored, moved

pytestmark = local.pytestmark

BUDGET = 4 * local.STEPS_OF_A_TRIAL


def move(folder: Path, above: Location, process: Path, kill_at: float) -> bool:
    """Move a search, up to one of the operations."""

    def nothing(given: Any) -> None:
        """Neither checked nor said."""

    def work() -> None:
        os.environ["BUILDING_TUNER_CACHE"] = str(process / "cache")
        going: Experiment = experiment_at(folder, above.uri)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(lease, "WATCH_SECONDS", 0.0)
            patched.setattr(lease, "SETTLE_SECONDS", 0.0)
            local.die_at(patched, kill_at)
            if going.moves_to:
                moved(going, going.settings.scenario, nothing, nothing)

    process.mkdir()
    return local.forked(process, work)


def check_move(above: Location, folder: Path, kill_at: float, moves: list[float], is_renamed: bool) -> None:
    """Kill a search in its folder, move it with kills, go on in the storage, and compare it with one that stays."""
    whole, killed, order = folder / "whole", folder / "killed", random.Random(1)
    for each, at in ((whole, math.inf), (killed, kill_at)):
        local.begun(each, BUDGET)
        local.search(each, BUDGET, 1, at, order)
    if is_renamed:
        # Its study keeps its name.
        killed = killed.rename(folder / "renamed")
    place = above / killed.name
    for number, at in enumerate(moves):
        is_over = move(killed, above, folder / f"move-{number}", at)
        assert is_over or not is_stored(place) or (killed / "moved.json").exists()
    with pytest.raises(UsageError, match="has moved to"):
        experiment_at(killed)
    before = load(killed)
    assert before.skipped == ()
    assert stored.search(place, folder / "run", 1, math.inf, order)
    found = stored.fetched(place, folder / "fetched")
    local.check(found, BUDGET)
    compare(found, whole)
    pd.testing.assert_frame_equal(load(killed).trials, before.trials)


@pytest.mark.parametrize("is_renamed", [False, True])
def test_a_search_that_moves_is_the_one_that_stays(tmp_path: Path, is_renamed: bool) -> None:
    above = location(f"file://{tmp_path}/storage")
    # At the later moment a frozen trial waits that goes on.
    check_move(above, tmp_path, 300.0 if is_renamed else 130.0, [40.5, math.inf], is_renamed)


@pytest.mark.torture
def test_so_it_is_with_many_kills_of_the_move(tmp_path: Path) -> None:
    above, drawn = location(f"file://{tmp_path}/storage"), random.Random(3)
    check_move(above, tmp_path, 150.0, [*(drawn.randrange(600) / 2.0 for _ in range(40)), math.inf], is_renamed=False)


@pytest.mark.torture
def test_so_it_is_with_a_server(s3_bucket: str, tmp_path: Path) -> None:
    check_move(location(s3_bucket), tmp_path, 300.0, [20.5, 31.0, 50.0, math.inf], is_renamed=True)
