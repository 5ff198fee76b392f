"""What is read of CityLearn's models is the model, and its inputs are those that CityLearn computes."""

from pathlib import Path

import numpy as np
import pytest

from common.errors import ScenarioError
from envs.citylearn_backend.dynamics import read_inputs
from envs.citylearn_backend.simulator import CityLearnSimulator
from tests.envs.models import INPUTS, with_dynamics


def test_an_input_that_the_backend_does_not_know_is_named(small_schema: Path, tmp_path: Path) -> None:
    simulator = CityLearnSimulator(with_dynamics(small_schema, tmp_path), with_reward=False)
    (building,) = simulator.env.buildings
    sources = {name: np.zeros(3, np.float32) for name in INPUTS if name != "outdoor_dry_bulb_temperature"}
    with pytest.raises(ScenarioError, match="does not know outdoor_dry_bulb_temperature as an input"):
        read_inputs(building, sources)
