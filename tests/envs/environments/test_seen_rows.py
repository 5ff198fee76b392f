"""Tables of what is seen further: bounds from the rows that train, and an owner of each column."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from envs.environments import seen_rows as module
from envs.environments.seen_rows import owners, seen_bounds, seen_rows
from envs.scenarios.scenario import scenario
from envs.seen import Seen
from tests.envs.made_up_plans import made_up_plan

SEEN = Seen(plan="yesterday")


@pytest.fixture(autouse=True)
def a_plan(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(module, "shadow", made_up_plan)
    seen_rows.cache_clear()
    yield
    seen_rows.cache_clear()


def test_bounds_hold_the_training_rows_alone(four_buildings: Path) -> None:
    site, seen = scenario(str(four_buildings)), SEEN
    rows, bounds = seen_rows(site, 0, seen), seen_bounds(site, "train", seen)
    own = np.concatenate([rows[window.start : window.start + window.hours] for window in site.windows("train")])
    assert (bounds[:, 0] <= own.min(axis=0)).all()
    assert (bounds[:, 1] >= own.max(axis=0)).all()
    np.testing.assert_allclose(np.ptp(bounds, axis=1), 1.2 * np.ptp(own, axis=0), rtol=1e-5)


def test_every_column_has_an_owner(four_buildings: Path) -> None:
    site, seen = scenario(str(four_buildings)), SEEN
    assert seen_rows(site, 0, seen).shape[1] == len(owners(site, 0, seen)) == len(seen.names(4))
