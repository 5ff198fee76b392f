"""Models of the indoor temperature; `test_kernel.py` compares whole sites that have them with CityLearn."""

from pathlib import Path

import numpy as np
import pytest
from numba import njit

from envs.batch_backend import dynamics
from envs.batch_backend.simulator import BatchSimulator
from envs.batch_backend.tables import Tables
from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.citylearn_backend.tables import read_tables
from tests.envs.batch_backend.comparison import opened
from tests.envs.models import with_dynamics

HOURS = 40


@pytest.fixture(scope="module")
def tables(small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    path = with_dynamics(small_schema, tmp_path_factory.mktemp("dynamics"))
    return read_tables(CityLearnSimulator(path, with_reward=False))


def indoor(simulator: BatchSimulator) -> np.ndarray:
    """Shape (copies, buildings)."""
    return simulator.comfort(simulator.row - 1)["indoor"]


def test_the_exponential_function_is_exact_within_rounding() -> None:
    @njit(error_model="numpy")
    def all_of(x: np.ndarray, y: np.ndarray) -> None:
        for k in range(x.size):
            y[k] = dynamics._exp(x[k])

    x = np.linspace(-80.0, 80.0, 100_001).astype(np.float32)
    found = np.zeros_like(x)
    all_of(x, found)
    exact = np.exp(x.astype(np.float64))
    assert (np.abs(found - exact) / np.spacing(exact.astype(np.float32))).max() < 1.2


def test_copies_begin_anew_and_do_not_depend_on_each_other(tables: Tables) -> None:
    alone, among = opened(tables, 1), opened(tables, 3)
    rng = np.random.default_rng(0)
    for _ in range(10):
        among.step(rng.uniform(-1.0, 1.0, (3, among.actions)))
    among.begin(1, 0, 0, HOURS, seed=0)
    for hour in range(HOURS):
        actions = rng.uniform(-1.0, 1.0, (3, among.actions))
        alone.step(actions[1:2])
        # One of them is at its end before.
        among.step(actions, np.arange(3) if hour < HOURS - 10 else np.array([1]))
        np.testing.assert_array_equal(indoor(alone)[0], indoor(among)[1])


def test_models_survive_a_file(tables: Tables, tmp_path: Path) -> None:
    tables.save(tmp_path / "year.npz")
    read = Tables.load(tmp_path / "year.npz", template=False)
    assert read.dynamics.keys() == tables.dynamics.keys()
    for name, values in tables.dynamics.items():
        np.testing.assert_array_equal(read.dynamics[name], values)
