"""Outages that a seeded model draws belong to the hours of a scenario."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envs.citylearn_backend.outages import drawn_for_any_length
from envs.citylearn_backend.simulator import CityLearnSimulator, check_repeats
from tests.envs.models import with_dynamics
from tests.envs.schema_changes import edit, put

MODEL = "citylearn.power_outage.ReliabilityMetricsPowerOutage"
DRAWN: dict[str, Any] = {
    "simulate_power_outage": True,
    "stochastic_power_outage": True,
    "stochastic_power_outage_model": {"type": MODEL, "attributes": {"random_seed": 5, "saifi": 100.0, "caidi": 300.0}},
}


@pytest.fixture(scope="module")
def site(small_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_dynamics(small_schema, tmp_path_factory.mktemp("outages"), DRAWN)


def outages(simulator: CityLearnSimulator, start: int, hours: int) -> np.ndarray:
    """Shape (hours,)."""
    simulator.begin(start, hours, seed=0)
    for _ in range(hours - 1):
        simulator.step(simulator.action_low)
    return simulator.env.buildings[0].power_outage_signal


def test_a_window_has_the_outages_of_its_hours(site: Path) -> None:
    simulator = CityLearnSimulator(site, with_reward=False)
    year = outages(simulator, 0, simulator.rows - 1)
    assert year.any()
    for start, hours in ((0, 48), (100, 77), (500, 200)):
        np.testing.assert_array_equal(outages(simulator, start, hours), year[start : start + hours])


def untouched(path: Path) -> np.ndarray:
    from citylearn.citylearn import CityLearnEnv

    env = CityLearnEnv(str(path), central_agent=True)
    model = env.buildings[0].stochastic_power_outage_model
    return np.asarray(model.get_signals(env.time_steps, seconds_per_time_step=3600.0))


def test_over_whole_days_the_outages_are_those_of_untouched_citylearn(site: Path, tmp_path: Path) -> None:
    path = edit(Path(shutil.copytree(site.parent, tmp_path / "days")), put("simulation_end_time_step", value=40 * 24 - 1))
    simulator = CityLearnSimulator(path, with_reward=False)
    assert simulator.rows == 40 * 24
    np.testing.assert_array_equal(outages(simulator, 0, simulator.rows - 1), untouched(path)[: simulator.rows - 1])


@pytest.mark.slow
def test_outages_of_metered_data_are_those_of_untouched_citylearn(thermal_schema: Callable[[str], Path]) -> None:
    path = thermal_schema("citylearn_challenge_2023_phase_2_local_evaluation")
    simulator = CityLearnSimulator(path, with_reward=False)
    expected = untouched(path)
    assert expected.any()
    np.testing.assert_array_equal(outages(simulator, 0, simulator.rows - 1), expected[: simulator.rows - 1])


def test_the_model_is_left_as_it_was() -> None:
    from citylearn.power_outage import ReliabilityMetricsPowerOutage

    before = ReliabilityMetricsPowerOutage.get_signals
    with drawn_for_any_length():
        assert len(ReliabilityMetricsPowerOutage(random_seed=1).get_signals(25, 3600.0)) == 25
    assert ReliabilityMetricsPowerOutage.get_signals is before


def test_runs_repeat(site: Path) -> None:
    check_repeats(CityLearnSimulator(site, with_reward=False))


def test_a_run_leaves_nothing_behind_in_the_series(site: Path) -> None:
    """CityLearn restores only as many hours of the last episode as the next one has."""
    used, new = (CityLearnSimulator(site, with_reward=False) for _ in range(2))
    used.begin(0, 300, seed=0)
    for _ in range(300):
        used.step(used.action_high)
    for simulator in (used, new):
        simulator.begin(50, 20, seed=0)
        simulator.begin(0, used.rows - 1, seed=0)
    for name in ("cooling_demand", "indoor_dry_bulb_temperature"):
        series = [getattr(simulator.env.buildings[0].energy_simulation, name) for simulator in (used, new)]
        np.testing.assert_array_equal(*series)
