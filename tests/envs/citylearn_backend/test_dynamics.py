"""What is read of CityLearn's models is the model, and its inputs are those that CityLearn computes."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from common.errors import ScenarioError
from envs.batch_backend import dynamics
from envs.citylearn_backend.dynamics import read_inputs, read_model
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.citylearn_backend.tables import read_dynamics
from envs.citylearn_backend.thermal import has_dynamics
from tests.envs.models import INPUTS, with_dynamics


@pytest.mark.parametrize(("hidden", "layers", "lookback"), [(16, 2, 12), (5, 1, 3), (7, 3, 4), (1, 1, 1)])
def test_a_model_is_torchs_within_rounding(hidden: int, layers: int, lookback: int, tmp_path: Path) -> None:
    from citylearn.dynamics import LSTMDynamics

    names = ["indoor_dry_bulb_temperature", "cooling_demand", "hour_sin", "occupant_count", "outdoor_dry_bulb_temperature"]
    torch.manual_seed(hidden)
    bounds: Any = [0.0] * len(names), [1.0] * len(names)
    network = LSTMDynamics(tmp_path / "none.pth", names, *bounds, hidden_size=hidden, num_layers=layers, lookback=lookback)
    model, state, rng = read_model(SimpleNamespace(dynamics=network)), network.init_hidden(1), np.random.default_rng(hidden)
    h, c = np.zeros((2, layers, hidden), np.float32)
    gates = np.zeros(4 * hidden, np.float32)
    for _ in range(20):
        x = rng.uniform(-1.0, 2.0, (lookback, len(names))).astype(np.float32)
        with torch.no_grad():
            expected, state = network(torch.tensor(x[np.newaxis]), state)
        for newest in model.bias[0] + x @ model.inputs:
            dynamics._run_hour(model, newest, h, c, gates)
        assert dynamics._temperature(model, h) == pytest.approx(expected.item(), abs=1e-6)


def test_inputs_are_those_that_citylearn_feeds_its_model(small_schema: Path, tmp_path: Path) -> None:
    simulator = CityLearnSimulator(with_dynamics(small_schema, tmp_path), with_reward=False)
    (building,) = simulator.env.buildings
    assert has_dynamics(building)
    simulator.begin(0, simulator.rows - 1, seed=0)
    series = read_dynamics(simulator)["0_series"]
    given = [i for i, name in enumerate(INPUTS) if name not in ("cooling_demand", "indoor_dry_bulb_temperature")]
    for hour in range(30):
        simulator.step(simulator.action_low)
        fed = np.array([values[-1] for values in building.dynamics._model_input], np.float32)
        np.testing.assert_array_equal(series[hour, given], fed[given])


def test_an_input_that_the_backend_does_not_know_is_named(small_schema: Path, tmp_path: Path) -> None:
    simulator = CityLearnSimulator(with_dynamics(small_schema, tmp_path), with_reward=False)
    (building,) = simulator.env.buildings
    sources = {name: np.zeros(3, np.float32) for name in INPUTS if name != "outdoor_dry_bulb_temperature"}
    with pytest.raises(ScenarioError, match="does not know outdoor_dry_bulb_temperature as an input"):
        read_inputs(building, sources)
