"""Models of indoor temperatures say what devices change."""

from pathlib import Path

import numpy as np

from envs.batch_backend.simulator import BatchSimulator
from envs.batch_backend.tables import Year
from envs.environments.year_cache import year_tables
from envs.environments.year_rooms import room_models
from envs.scenarios.scenario import scenario
from tests.envs.models import with_rooms
from tests.envs.tanks import with_tank


def test_a_model_foresees_the_next_step_of_other_deliveries(small_schema: Path, tmp_path: Path) -> None:
    site = scenario(str(with_rooms(small_schema, tmp_path)))
    models, tables = room_models(site), year_tables(site, 0)
    assert models is not None
    simulator = BatchSimulator({0: Year(tables)}, copies=2)
    for copy in range(2):
        simulator.begin(copy, 0, 400, 200, seed=0)
    rng, cooling = np.random.default_rng(5), int(tables.site["thermal"]["device_action"][0, 0])
    indoor, delivered = [], []
    for _ in range(200):
        actions = simulator.uncontrolled_actions()
        actions[1, cooling] = rng.uniform(-1.0, 1.0)
        simulator.step(actions)
        indoor.append(simulator.comfort(simulator.row - 1)["indoor"][:, 0].astype(float))
        delivered.append(simulator.delivered_kwh[:, 0, 0])
    (usual, found), (asked, given) = np.array(indoor)[10:].T, np.array(delivered)[10:].T
    deviation, surplus = found - usual, given - asked
    foreseen = models.kept[0] * deviation[:-1] + models.now[0, 0] * surplus[1:] + models.later[0, 0] * surplus[:-1]
    wrong = foreseen - deviation[1:]
    assert np.std(deviation) > 0.5
    assert np.std(wrong) < 0.25 * np.std(deviation)
    # Cold makes colder, and its effect fades.
    assert models.now[0, 0] < 0.0 < models.kept[0] < 1.0
    # How far a plan stays from the band is what the model is wrong by.
    assert 0.3 < np.sqrt(np.mean(wrong**2)) / models.error_c[0] < 3.0


def test_a_site_without_devices_that_obey_has_none(small_schema: Path, tmp_path: Path) -> None:
    assert room_models(scenario(str(with_tank(small_schema, tmp_path, cooling=True)))) is None
