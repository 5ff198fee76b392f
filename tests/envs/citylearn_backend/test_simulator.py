"""CityLearn as a backend, without its traps."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.errors import ScenarioError
from tests.envs.scenarios import strangers

HOURS = 48


@pytest.fixture(scope="module")
def simulator(small_schema: Path) -> CityLearnSimulator:
    return CityLearnSimulator(small_schema, with_reward=True)


def drive(simulator: CityLearnSimulator, start: int, hours: int, seed: int = 0, steps: int | None = None) -> list[np.ndarray]:
    """Raw observations of a run with random actions that depend on the hour alone."""
    observations = [simulator.begin(start, hours, seed)]
    for _ in range(hours if steps is None else steps):
        rng = np.random.default_rng(simulator.row)
        observations.append(simulator.step(rng.uniform(simulator.action_low, simulator.action_high))[0])
    return observations


def test_a_seed_repeats_a_run(simulator: CityLearnSimulator) -> None:
    first, second = drive(simulator, 0, HOURS, seed=3), drive(simulator, 0, HOURS, seed=3)
    np.testing.assert_array_equal(first, second)


def test_a_schema_with_a_byte_order_mark_gives_the_same_run(
    small_schema: Path, simulator: CityLearnSimulator, tmp_path: Path
) -> None:
    path = shutil.copytree(small_schema.parent, tmp_path / "site") / "schema.json"
    path.write_text(path.read_text(encoding="utf-8"), encoding="utf-8-sig")
    marked = CityLearnSimulator(path, with_reward=True)
    np.testing.assert_array_equal(drive(marked, 0, HOURS), drive(simulator, 0, HOURS))


def test_the_last_observation_is_that_of_the_hour_after_and_no_repetition(simulator: CityLearnSimulator) -> None:
    last = simulator.rows - 1 - HOURS
    whole = drive(simulator, last, HOURS)
    # A window in the middle shows what CityLearn gives when it is not at its end.
    middle, longer = drive(simulator, 24, HOURS)[-1], drive(simulator, 24, HOURS + 5, steps=HOURS)[-1]
    np.testing.assert_array_equal(middle, longer)
    assert not np.array_equal(whole[-1], whole[-2])
    load = simulator.observation_names.index("non_shiftable_load")
    assert whole[-1][load] == pytest.approx(simulator.exogenous.load_kwh[0, -1])


def test_skipped_work_changes_no_number(small_schema: Path, simulator: CityLearnSimulator) -> None:
    from citylearn.citylearn import CityLearnEnv

    plain = CityLearnEnv(str(small_schema), central_agent=True)
    plain.episode_time_steps = [(240, 240 + HOURS)]
    plain.buildings[0].electrical_storage.initial_soc = 0.2
    plain.reset(seed=0)
    skipping = CityLearnSimulator(small_schema, with_reward=False)
    for candidate in (simulator, skipping):
        candidate.begin(240, HOURS, 0)
    rng = np.random.default_rng(0)
    for step in range(HOURS):
        action = rng.uniform(simulator.action_low, simulator.action_high)
        expected, rewards, *_ = plain.step([action.tolist()])
        with_reward, without = simulator.step(action), skipping.step(action)
        assert with_reward[1] == rewards[0]
        assert without[1] == 0.0
        # The last observation is where CityLearn repeats itself and the simulator does not.
        if step < HOURS - 1:
            np.testing.assert_array_equal(with_reward[0], np.asarray(expected[0], dtype=np.float64))
        np.testing.assert_array_equal(with_reward[0], without[0])
    np.testing.assert_array_equal(skipping.run().net_kwh[0], plain.buildings[0].net_electricity_consumption[:HOURS])


def test_a_reward_function_for_each_building_is_summed(
    small_schema: Path, simulator: CityLearnSimulator, tmp_path: Path
) -> None:
    path = Path(shutil.copytree(small_schema.parent, tmp_path / "site")) / "schema.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    schema["reward_function"] = {"type": {"default": schema["reward_function"]["type"]}, "attributes": {"default": {}}}
    path.write_text(json.dumps(schema), encoding="utf-8")
    each = CityLearnSimulator(path, with_reward=True)
    rewards = []
    for own in (simulator, each):
        own.begin(240, 24, 0)
        rewards.append([own.step(own.uncontrolled_actions())[1] for _ in range(24)])
    assert rewards[0] == rewards[1]
    assert any(rewards[0])


def test_a_schema_makes_citylearn_write_no_files_and_fetch_none(small_schema: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(small_schema.parent, tmp_path / "site")) / "schema.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    schema |= {"render": True, "render_mode": "during", "render_session_name": "mine", "export_kpis_on_episode_end": True}
    path.write_text(json.dumps(schema), encoding="utf-8")
    env = CityLearnSimulator(path, with_reward=False).env
    assert (env.render_enabled, env.render_mode, env.export_kpis_on_episode_end, env.offline) == (False, "none", False, True)


def test_a_schema_that_was_changed_behind_the_scenarios_back_needs_trust(small_schema: Path, tmp_path: Path) -> None:
    path = strangers.write(small_schema, tmp_path, strangers.CLASSES["a building"])
    with pytest.raises(ScenarioError, match="--trust-scenario"):
        CityLearnSimulator(path, with_reward=False)
    path = strangers.write(small_schema, tmp_path / "other", strangers.NOT_NEEDED["a reward"])
    with pytest.raises(ScenarioError, match=r"reward_function\.type.*--trust-scenario"):
        CityLearnSimulator(path, with_reward=True)


def test_energy_balances_at_every_hour(simulator: CityLearnSimulator) -> None:
    drive(simulator, 240, HOURS)
    run, series = simulator.run(), simulator.exogenous
    rows = slice(240, 240 + HOURS)
    balance = series.load_kwh[:, rows] + run.battery_kwh - series.pv_kwh[:, rows] + run.charging_kwh
    assert np.abs(run.battery_kwh).sum() > 0.0
    assert run.charging_kwh.sum() > 0.0
    np.testing.assert_allclose(run.net_kwh, balance, atol=1e-3)


def test_cost_and_emission_are_citylearns(simulator: CityLearnSimulator) -> None:
    drive(simulator, 240, HOURS)
    series, rows, drawn = simulator.exogenous, slice(240, 240 + HOURS), np.maximum(simulator.run().net_kwh, 0.0)
    (building,) = simulator.env.buildings
    np.testing.assert_allclose(
        (drawn * series.price[:, rows])[0], building.net_electricity_consumption_cost[:HOURS], rtol=1e-5, atol=1e-4
    )
    np.testing.assert_allclose(
        (drawn * series.carbon[:, rows])[0], building.net_electricity_consumption_emission[:HOURS], rtol=1e-5, atol=1e-4
    )


def test_uncontrolled_vehicles_get_what_they_require_as_far_as_power_and_time_allow(simulator: CityLearnSimulator) -> None:
    simulator.begin(0, 240, 0)
    for _ in range(240):
        simulator.step(simulator.uncontrolled_actions())
    run, sessions = simulator.run(), simulator.sessions
    assert np.all(run.battery_kwh == 0.0)
    power = np.array([c.max_charging_power for c in simulator.chargers])[sessions.charger]
    here = sessions.end < 240
    possible = np.minimum(sessions.required_kwh, (sessions.end - sessions.start + 1) * power * 0.95)[here]
    served = sessions.required_kwh[here].sum() - run.missing_kwh.sum()
    assert served == pytest.approx(possible.sum(), rel=2e-3)
    # And no more than that: energy beyond the requirement would make every other policy look good.
    assert run.charging_kwh.sum() == pytest.approx(served / 0.95, rel=0.02)


def test_vehicles_that_are_not_charged_are_missed(simulator: CityLearnSimulator) -> None:
    simulator.begin(0, 240, 0)
    for _ in range(240):
        simulator.step(np.zeros_like(simulator.action_low))
    here = simulator.sessions.within(0, 240)
    missing, required = simulator.run().missing_kwh, simulator.sessions.required_kwh
    np.testing.assert_allclose(missing[here], required[here], atol=0.02)
    assert np.all(missing[~here] == 0.0)


def changed_schema(schema: Path, folder: Path, **values: object) -> Path:
    """Copy of a scenario with other values in its schema."""
    copy = shutil.copytree(schema.parent, folder / "copy") / "schema.json"
    copy.write_text(json.dumps({**json.loads(copy.read_text(encoding="utf-8")), **values}), encoding="utf-8")
    return copy


def test_a_year_may_begin_in_the_middle_of_the_files(small_schema: Path, simulator: CityLearnSimulator, tmp_path: Path) -> None:
    later = CityLearnSimulator(changed_schema(small_schema, tmp_path, simulation_start_time_step=72), with_reward=True)
    assert later.rows == simulator.rows - 72
    rng = np.random.default_rng(0)
    actions = [rng.uniform(simulator.action_low, simulator.action_high) for _ in range(HOURS)]
    runs = []
    for candidate, start in ((simulator, 96), (later, 24)):
        observations = [candidate.begin(start, HOURS, 0), *(candidate.step(action)[0] for action in actions)]
        runs.append((observations, candidate.run()))
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    assert runs[0][1].missing_kwh.sum() == pytest.approx(runs[1][1].missing_kwh.sum())
    for name in ("load_kwh", "pv_kwh", "price"):
        np.testing.assert_array_equal(getattr(later.exogenous, name), getattr(simulator.exogenous, name)[:, 72:])
    np.testing.assert_array_equal(later.sessions.end, simulator.sessions.end[simulator.sessions.start >= 72] - 72)


def test_episodes_that_the_schema_asks_for_hide_nothing_of_the_year(
    small_schema: Path, simulator: CityLearnSimulator, tmp_path: Path
) -> None:
    other = CityLearnSimulator(changed_schema(small_schema, tmp_path, episode_time_steps=48), with_reward=True)
    np.testing.assert_array_equal(other.exogenous.load_kwh, simulator.exogenous.load_kwh)
    np.testing.assert_array_equal(other.sessions.end, simulator.sessions.end)


def test_citylearns_ratios_are_those_of_an_environment_that_was_left_alone(
    small_schema: Path, simulator: CityLearnSimulator
) -> None:
    from citylearn.citylearn import CityLearnEnv

    # The year's last days, where the simulator goes a step further than CityLearn.
    start = simulator.rows - 1 - HOURS
    simulator.begin(start, HOURS, 0)
    plain = CityLearnEnv(str(small_schema), central_agent=True)
    plain.episode_time_steps = [(start, start + HOURS)]
    plain.buildings[0].electrical_storage.initial_soc = 0.2
    plain.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(HOURS):
        action = rng.uniform(simulator.action_low, simulator.action_high)
        simulator.step(action)
        plain.step([action.tolist()])
    table = plain.evaluate()
    expected = table[table["level"] == "district"].set_index("cost_function")["value"].to_dict()
    found = simulator.citylearn_ratios()
    for name in ("electricity_consumption_total", "carbon_emissions_total", "cost_total", "all_time_peak_average"):
        assert found[name] == pytest.approx(expected[name], rel=1e-6), name


def test_batteries_start_as_full_as_they_are_told(simulator: CityLearnSimulator) -> None:
    column = simulator.observation_names.index("electrical_storage_soc")
    # Depth of discharge 0.8.
    assert [simulator.begin(0, HOURS, 0, charge)[column] for charge in (0.0, 0.5, 1.0)] == pytest.approx([0.2, 0.6, 1.0])
