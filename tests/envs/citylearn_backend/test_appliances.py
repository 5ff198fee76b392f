"""Deferrable appliances are read as CityLearn has them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envs.batch_backend import records
from envs.citylearn_backend.appliances import appliance_places, read_appliances
from envs.citylearn_backend.simulator import CityLearnSimulator
from tests.envs.appliances import with_appliance
from tests.envs.schema_changes import edit


@pytest.fixture
def simulator(small_schema: Path, tmp_path: Path) -> CityLearnSimulator:
    """The small site with an appliance, whose rows begin with CityLearn's eighth."""
    path = with_appliance(small_schema, tmp_path)

    def change(schema: dict[str, Any]) -> None:
        schema["observations"] |= {f"deferrable_appliance_{name}": {"active": True} for name in records.FEATURES}
        schema["simulation_start_time_step"] = 8

    return CityLearnSimulator(edit(path, change), with_reward=False)


def test_its_observations_are_citylearns_in_their_order(simulator: CityLearnSimulator) -> None:
    (device,) = simulator.env.buildings[0].deferrable_appliances
    assert tuple(device.observations()) == records.FEATURES
    places = appliance_places(simulator, simulator.env.buildings[0])
    assert set(places) <= set(simulator.observation_names)
    assert [use for _, _, use in places.values()] == list(range(len(records.FEATURES)))


def test_a_record_counts_from_the_first_row_that_the_schema_runs(simulator: CityLearnSimulator) -> None:
    found = read_appliances(simulator)
    (own,), cycle = found["appliance"], found["cycle"]
    assert (own["offset"], own["threshold"], own["first"], own["end"]) == (8, 0.2, 0, 4)
    assert simulator.action_names[own["action"]] == "deferrable_appliance_washer"
    assert cycle["energy"].tolist() == np.float32([0.5, 2.25, 1.0, 0.3]).tolist()


def test_a_site_without_appliances_has_no_rows(small_schema: Path) -> None:
    found = read_appliances(CityLearnSimulator(small_schema, with_reward=False))
    assert {name: len(values) for name, values in found.items()} == {"appliance": 0, "cycle": 0}
