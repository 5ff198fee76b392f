"""Raw observations of a year: those that no action changes are known, the others have a place."""

from pathlib import Path

import numpy as np

from envs.batch_backend import records
from envs.batch_backend.tables import Tables
from envs.citylearn_backend.pool import SIMULATORS


def test_observations_that_no_action_changes_are_citylearns(small_schema: Path, small_tables: Tables) -> None:
    template = small_tables.rows["template"]
    left_out = small_tables.site["observed"]["at"]
    same = np.setdiff1d(np.arange(template.shape[1]), left_out)
    with SIMULATORS.lend(small_schema) as simulator:
        raw = [simulator.begin(0, 30, seed=0)]
        raw += [simulator.step(simulator.action_low)[0] for _ in range(30)]
    assert len(same) > 20
    np.testing.assert_array_equal(template[:31, same], np.array(raw, dtype=np.float32)[:, same])


def test_each_observation_that_depends_on_actions_has_its_place(small_tables: Tables) -> None:
    observed, names = small_tables.site["observed"], small_tables.names
    found = [(names[own["at"]], int(own["kind"])) for own in observed]
    assert found[:2] == [("electrical_storage_soc", records.BATTERY_SOC), ("net_electricity_consumption", records.NET)]
    assert [kind for _, kind in found[2:]] == [records.VEHICLE_SOC] * 4
    assert all(name.startswith("connected_electric_vehicle_at_charger_") for name, _ in found[2:])
    assert not small_tables.rows["template"][:, observed["at"][:2]].any()
