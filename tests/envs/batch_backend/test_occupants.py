"""People who change set points; `test_kernel.py` compares random sites that have them with CityLearn."""

from pathlib import Path

import numpy as np
import pytest

from envs.batch_backend.simulator import BatchSimulator
from envs.batch_backend.tables import Tables, Year
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.citylearn_backend.tables import read_layout, read_tables
from tests.envs.batch_backend.comparison import HOURS, opened
from tests.envs.models import with_people
from tests.envs.schema_changes import edit, put

COOLING = "indoor_dry_bulb_temperature_cooling_set_point"


@pytest.fixture(scope="module")
def simulator(small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> CityLearnSimulator:
    path = with_people(small_schema, tmp_path_factory.mktemp("people"))
    edit(path, put("observations", COOLING, value={"active": True, "shared_in_central_agent": False}))
    return CityLearnSimulator(path, with_reward=False, trusted=True)


@pytest.fixture(scope="module")
def tables(simulator: CityLearnSimulator) -> Tables:
    return read_tables(simulator)


def set_points(batch: BatchSimulator) -> np.ndarray:
    """For cooling, in the hour that the last step covered, shape (copies,)."""
    return batch.comfort(batch.row - 1)["cooling"][:, 0]


def test_a_set_point_holds_until_people_change_it_again_and_is_seen_by_the_policy(
    simulator: CityLearnSimulator, tables: Tables
) -> None:
    layout = read_layout(simulator, None)
    scaled = Year(tables, layout.scale_exogenous(tables.rows["template"]))
    batch, raw = BatchSimulator({0: scaled}, 1, layout), opened(tables, 1)
    batch.begin(0, 0, 0, HOURS, seed=0, charge=0.5)
    at = tables.names.index(COOLING)
    centre, inverse = (values[at] for values in layout.linear)
    assert inverse > 0.0, "the schedule is constant, and people are seen"
    seen = []
    for _ in range(HOURS):
        for own in (batch, raw):
            own.step(np.zeros((1, own.actions)))
        seen.append(float(raw.observation[0, at]))
        assert seen[-1] == set_points(raw)[0], "the schedule is the same in all hours"
        assert batch.observation[0, at] == pytest.approx(np.clip((seen[-1] - centre) * inverse, -1.0, 1.0), abs=1e-6)
    changes = np.diff(seen)
    assert 5 < np.count_nonzero(changes) < HOURS / 2
    assert set(np.unique(np.abs(changes[changes != 0.0])).round(2)) <= {0.55, 1.7}


def test_people_follow_the_seed_of_the_episode_and_do_not_depend_on_other_copies(tables: Tables) -> None:
    alone, among = opened(tables, 1), opened(tables, 3)
    among.begin(1, 0, 0, HOURS, seed=0, charge=0.5)
    among.begin(2, 0, 0, HOURS, seed=7, charge=0.5)
    found = []
    for _ in range(HOURS):
        for own in (alone, among):
            own.step(np.zeros((own.copies, own.actions)))
        assert set_points(among)[0] == set_points(among)[1] == set_points(alone)[0]
        found.append(set_points(among)[[0, 2]])
    assert not np.array_equal(*np.transpose(found))


def test_an_episode_begins_with_the_schedule_and_a_state_goes_on_with_set_points_and_temperatures(tables: Tables) -> None:
    batch, other = opened(tables, 2), opened(tables, 2)
    still = np.zeros((2, batch.actions))
    for _ in range(HOURS // 2):
        batch.step(still)
    other.set_state(batch.get_state())
    for _ in range(HOURS // 2):
        for own in (batch, other):
            own.step(still)
        for side in ("cooling", "indoor"):
            np.testing.assert_array_equal(*(own.comfort(own.row - 1)[side] for own in (batch, other)))
    assert (set_points(batch) != 24.0).all()
    batch.begin(0, 0, 0, HOURS, seed=0)
    batch.step(still, np.array([0]))
    assert set_points(batch)[0] == 24.0
