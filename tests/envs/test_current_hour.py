"""What environments rely on in a simulator, held for each one that exists."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envs.batch_backend.tables import Tables
from envs.citylearn_backend.simulator import SIMULATORS
from envs.current_hour import Present, scaled
from envs.environments.site_env import SiteEnv
from envs.environments.vector_env import WindowsEnv
from envs.environments.year_cache import tables_file
from envs.objective.series import Run
from envs.scenarios.scenario import Window, scenario
from tests.envs.one_copy import OneCopy

START, HOURS, SEED = 24, 72, 3


def batch_simulator(schema: Path) -> OneCopy:
    tables = Tables.load(tables_file(scenario(str(schema)), 0))
    return OneCopy(tables, tables.rows["template"], with_reward=True)


@pytest.fixture(params=["citylearn", "batch"])
def simulator(request: pytest.FixtureRequest, small_schema: Path) -> Iterator[Any]:
    if request.param == "batch":
        yield batch_simulator(small_schema)
        return
    found = SIMULATORS.take(small_schema, with_reward=True)
    yield found
    SIMULATORS.give_back(found)


def random_steps(simulator: Any, charge: float = 0.5) -> tuple[list[np.ndarray], list[float]]:
    """Observations and rewards of a run under random actions."""
    rng = np.random.default_rng(0)
    observations, rewards = [simulator.begin(START, HOURS, SEED, charge)], []
    for _ in range(HOURS):
        observation, reward = simulator.step(rng.uniform(simulator.action_low, simulator.action_high))
        observations.append(observation)
        rewards.append(reward)
    return observations, rewards


def test_a_run_is_repeated_by_its_arguments(simulator: Any) -> None:
    first, again = random_steps(simulator), random_steps(simulator)
    assert np.array_equal(first[0], again[0])
    assert first[1] == again[1]
    assert not np.array_equal(first[0], random_steps(simulator, charge=1.0)[0])


def test_row_counts_along_the_year(simulator: Any) -> None:
    simulator.begin(START, HOURS, SEED)
    assert simulator.row == START
    simulator.step(simulator.action_high)
    assert simulator.row == START + 1


def test_the_run_is_what_was_stepped(simulator: Any) -> None:
    random_steps(simulator)
    run = simulator.run()
    buildings = len(simulator.exogenous.load_kwh)
    assert run.net_kwh.shape == run.battery_kwh.shape == run.charging_kwh.shape == run.off_grid.shape == (buildings, HOURS)
    assert np.array_equal(run.net_kwh, np.stack([simulator.net_kwh(step) for step in range(HOURS)], axis=1))
    ends = simulator.sessions.end
    assert run.missing_kwh.shape == ends.shape
    for row in range(START, START + HOURS):
        assert simulator.missing_kwh(row) == pytest.approx(run.missing_kwh[ends == row].sum())
    assert not run.missing_kwh[~simulator.sessions.within(START, HOURS)].any()


def test_a_new_run_forgets_the_one_before(simulator: Any) -> None:
    random_steps(simulator)
    simulator.begin(START, HOURS, SEED)
    simulator.step(simulator.action_low)
    assert simulator.run().net_kwh.shape[1] == 1


def test_uncontrolled_actions_leave_batteries_idle_and_serve_vehicles(simulator: Any) -> None:
    simulator.begin(START, HOURS, SEED)
    for _ in range(HOURS):
        actions = simulator.uncontrolled_actions()
        assert ((actions >= simulator.action_low) & (actions <= simulator.action_high)).all()
        assert not actions[simulator.battery_actions].any()
        simulator.step(actions)
    assert simulator.run().charging_kwh.sum() > 0.0


def test_batteries_are_told_with_their_power(simulator: Any) -> None:
    assert simulator.battery_actions.tolist() == [0]
    assert simulator.battery_power_kw == 400.0


def test_both_simulators_give_the_same_numbers(small_schema: Path) -> None:
    simulators = [SIMULATORS.take(small_schema, with_reward=True), batch_simulator(small_schema)]
    (theirs, their_rewards), (own, own_rewards) = (random_steps(each) for each in simulators)
    runs: list[Run] = [each.run() for each in simulators]
    SIMULATORS.give_back(simulators[0])
    np.testing.assert_array_max_ulp(np.array(theirs, dtype=np.float32), np.array(own, dtype=np.float32), 1)
    assert their_rewards == pytest.approx(own_rewards, rel=1e-6)
    for name in ("net_kwh", "battery_kwh", "off_grid"):
        assert np.array_equal(getattr(runs[0], name), getattr(runs[1], name)), name
    # CityLearn adds up the chargers in float64.
    np.testing.assert_array_max_ulp(*(run.charging_kwh.astype(np.float32) for run in runs), 1)
    assert runs[0].missing_kwh == pytest.approx(runs[1].missing_kwh, rel=1e-6)


WINDOW = Window(0, 100, 48)


def seen(present: Present) -> dict[str, np.ndarray]:
    low, high = present.action_range
    state = present.site_state(0)
    assert state is not None
    assert state.window == WINDOW
    return {
        "row": np.array(state.row),
        "battery_soc": state.battery_soc,
        "previous_net_kwh": np.array(state.previous_net_kwh),
        "peaks_kw": np.array(state.peaks_kw),
        "low": low,
        "high": high,
        "battery_actions": present.battery_actions,
        "battery_power_kw": np.array(present.battery_power_kw),
        "hour_of_day": present.hour_of_day,
        "is_dear": present.is_dear,
        "uncontrolled_net_kwh": present.uncontrolled_net_kwh,
        "uncontrolled_actions": present.uncontrolled_actions(),
    }


def test_both_backends_show_the_same(small_schema: Path) -> None:
    site = scenario(str(small_schema))
    found: list[list[dict[str, np.ndarray]]] = []
    for env in (WindowsEnv(site, [WINDOW]), SiteEnv(site, [WINDOW], "sequence")):
        rng, present, hours = np.random.default_rng(0), env.present, []

        def policy(
            observations: np.ndarray,
            rng: np.random.Generator = rng,
            present: Present = present,
            hours: list[dict[str, np.ndarray]] = hours,
        ) -> np.ndarray:
            hours.append(seen(present))
            return rng.uniform(-1.0, 1.0, (1, len(present.action_range[0])))

        list(env.episodes(policy))
        env.close()
        found.append(hours)
    batch, citylearn = found
    assert len(batch) == WINDOW.hours
    for one, other in zip(batch, citylearn, strict=True):
        for name, value in one.items():
            np.testing.assert_allclose(other[name], value, rtol=1e-6, atol=1e-6, err_msg=name)
    for name in ("is_dear", "uncontrolled_actions", "hour_of_day", "row", "battery_soc", "previous_net_kwh", "peaks_kw"):
        assert np.ptp(np.array([hour[name] for hour in batch], dtype=float), axis=0).max() > 0.0, name


@pytest.mark.parametrize(("action", "expected"), [(-1.0, -1.0), (0.5, 0.0), (2.0, 1.0), (-9.0, -1.0), (9.0, 1.0)])
def test_a_range_becomes_that_of_environments(action: float, expected: float) -> None:
    low, high = np.array([-1.0, 0.0]), np.array([2.0, 0.0])
    found = scaled(np.array([[action, 5.0]]), low, high)
    assert found.tolist() == [[expected, -1.0]]
