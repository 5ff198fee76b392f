"""A table has what the environment shows, in the rows of the data, and nothing of other splits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from envs.environments.seen_year import seen_rows
from envs.scenarios.scenario import scenario
from envs.scenarios.splits import Splits
from envs.seen import Seen
from tests.envs.made_up_plans import made_up_plan
from tuning.exporting.seen_table import first_row, seen_table

SEEN = Seen(plan="yesterday")
SPLITS = Splits(train=("0-19",), validation=("20-24",), test=("25-28", "31-33"), test_buildings=("one", "three"))


@pytest.fixture(autouse=True)
def a_plan(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("envs.environments.seen_year.shadow", made_up_plan)
    seen_rows.cache_clear()
    yield
    seen_rows.cache_clear()


def test_without_stated_splits_it_has_all_rows(four_buildings: Path) -> None:
    site = scenario(str(four_buildings))
    np.testing.assert_array_equal(seen_table(site, "train", SEEN), seen_rows(site, 0, SEEN))


def test_of_a_stated_split_it_has_the_rows_of_all_its_ranges_without_their_history(four_buildings: Path) -> None:
    site = scenario(str(four_buildings), splits=SPLITS)
    table = seen_table(site, "test", SEEN)
    first, second = site.years("test")
    assert site.segments[first].history
    assert site.segments[second].history
    np.testing.assert_array_equal(table[25 * 24 : 29 * 24], seen_rows(site, first, SEEN)[site.segments[first].history :])
    np.testing.assert_array_equal(table[31 * 24 : 34 * 24], seen_rows(site, second, SEEN)[site.segments[second].history :])
    inside = np.zeros(len(table), dtype=bool)
    inside[25 * 24 : 29 * 24] = inside[31 * 24 : 34 * 24] = True
    assert np.isnan(table[~inside]).all()
    assert np.isfinite(table[inside]).all()
    # Of two homes; those that train are four.
    assert seen_table(site, "train", SEEN).shape[1] > table.shape[1]


def test_its_first_row_is_the_first_that_the_schema_runs(four_buildings: Path, tmp_path: Path) -> None:
    schema = json.loads(four_buildings.read_text(encoding="utf-8"))
    assert first_row(scenario(str(four_buildings))) == schema["simulation_start_time_step"]
    schema |= {"simulation_start_time_step": 48, "root_directory": str(four_buildings.parent)}
    later = tmp_path / "schema.json"
    later.write_text(json.dumps(schema), encoding="utf-8")
    site = scenario(str(later), trusted=True)
    assert first_row(site) == 48
    assert len(seen_table(site, "train", SEEN)) == len(seen_rows(site, 0, SEEN))
