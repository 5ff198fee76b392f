"""CityLearn as a backend, without its traps."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from common.errors import ScenarioError
from envs.citylearn_backend import simulator as simulator_module
from envs.citylearn_backend.simulator import (
    KIND,
    MOST_BYTES,
    SIMULATORS,
    CityLearnSimulator,
    SimulatorPool,
    check_dynamics,
    check_repeats,
    current_soc,
    read_rules,
    read_sessions,
)
from envs.objective.series import Sessions
from envs.scenarios.scenario import Scenario, scenario
from envs.scenarios.series_files import AWAY, COMING, PLUGGED
from tests.envs.models import with_people
from tests.envs.scenarios import strangers
from tests.envs.scenarios.strangers import Payload
from tests.envs.schema_changes import edited, put, with_series

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
    def for_each(schema: dict[str, Any]) -> None:
        schema["reward_function"] = {"type": {"default": schema["reward_function"]["type"]}, "attributes": {"default": {}}}

    each = CityLearnSimulator(edited(small_schema, tmp_path, for_each), with_reward=True)
    rewards = []
    for own in (simulator, each):
        own.begin(240, 24, 0)
        rewards.append([own.step(own.uncontrolled_actions())[1] for _ in range(24)])
    assert rewards[0] == rewards[1]
    assert any(rewards[0])


def test_rows_that_are_further_apart_than_steps_are_refused(small_schema: Path, tmp_path: Path) -> None:
    path = edited(small_schema, tmp_path, lambda schema: schema.update(seconds_per_time_step=900))
    with pytest.raises(ScenarioError, match="are not 900 s apart, as its steps are; set seconds_per_time_step"):
        CityLearnSimulator(path, with_reward=False)
    with pytest.raises(ScenarioError, match="rows are 60 minutes apart, and steps 15: set seconds_per_time_step to 3600"):
        scenario(str(path))


def test_a_schema_makes_citylearn_write_no_files_and_fetch_none(small_schema: Path, tmp_path: Path) -> None:
    writes = {"render": True, "render_mode": "during", "render_session_name": "mine", "export_kpis_on_episode_end": True}
    path = edited(small_schema, tmp_path, lambda schema: schema.update(writes))
    env = CityLearnSimulator(path, with_reward=False).env
    assert (env.render_enabled, env.render_mode, env.export_kpis_on_episode_end, env.offline) == (False, "none", False, True)


def test_a_schema_that_was_changed_behind_the_scenarios_back_needs_trust(small_schema: Path, tmp_path: Path) -> None:
    path = strangers.write(small_schema, tmp_path, strangers.CLASSES["a building"])
    with pytest.raises(ScenarioError, match="--trust-scenario"):
        CityLearnSimulator(path, with_reward=False)
    path = strangers.write(small_schema, tmp_path / "other", strangers.NOT_NEEDED["a reward"])
    with pytest.raises(ScenarioError, match=r"reward_function\.type.*--trust-scenario"):
        CityLearnSimulator(path, with_reward=True)


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


def test_a_year_may_begin_in_the_middle_of_the_files(small_schema: Path, simulator: CityLearnSimulator, tmp_path: Path) -> None:
    later = CityLearnSimulator(edited(small_schema, tmp_path, put("simulation_start_time_step", value=72)), with_reward=True)
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
    other = CityLearnSimulator(edited(small_schema, tmp_path, put("episode_time_steps", value=48)), with_reward=True)
    np.testing.assert_array_equal(other.exogenous.load_kwh, simulator.exogenous.load_kwh)
    np.testing.assert_array_equal(other.sessions.end, simulator.sessions.end)


def test_a_run_is_what_was_stepped_since_it_began(simulator: CityLearnSimulator) -> None:
    drive(simulator, 24, HOURS)
    run, ends = simulator.run(), simulator.sessions.end
    assert simulator.row == 24 + HOURS
    assert run.net_kwh.shape == run.battery_kwh.shape == run.charging_kwh.shape == run.off_grid.shape == (1, HOURS)
    assert np.array_equal(run.net_kwh, np.stack([simulator.net_kwh(step) for step in range(HOURS)], axis=1))
    for row in range(24, 24 + HOURS):
        assert simulator.missing_kwh(row) == pytest.approx(run.missing_kwh[ends == row].sum())
    assert not run.missing_kwh[~simulator.sessions.within(24, HOURS)].any()
    assert (simulator.battery_actions.tolist(), simulator.battery_step_kwh) == ([0], 400.0)


def test_batteries_start_as_full_as_they_are_told(simulator: CityLearnSimulator) -> None:
    column = simulator.observation_names.index("electrical_storage_soc")
    # Depth of discharge 0.8.
    assert [simulator.begin(0, HOURS, 0, charge)[column] for charge in (0.0, 0.5, 1.0)] == pytest.approx([0.2, 0.6, 1.0])


ATTRIBUTES: dict[str, Any] = {
    "input_observation_names": ["indoor_dry_bulb_temperature", "hour"],
    "input_normalization_minimum": [0.0, 1.0],
    "input_normalization_maximum": [40.0, 24.0],
    "hidden_size": 2, "num_layers": 1, "lookback": 3,
}  # fmt: skip


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A file with weights of a network with `ATTRIBUTES`."""
    from citylearn.dynamics import LSTMDynamics

    path = tmp_path / "weights.pth"
    torch.save({"model_state_dict": LSTMDynamics(filepath=path, **ATTRIBUTES).state_dict()}, path)
    return path


def check(path: Path, include: bool = True, **changes: Any) -> None:
    attributes = {**ATTRIBUTES, "filename": path.name, **changes}
    building = {"include": include, "dynamics": {"type": KIND, "attributes": attributes}}
    check_dynamics(path.parent / "schema.json", {"root_directory": str(path.parent), "buildings": {"home": building}})


def test_weights_of_the_network_pass(weights: Path) -> None:
    check(weights)
    check_dynamics(weights, {"root_directory": str(weights.parent), "buildings": {"home": {}}})


@pytest.mark.parametrize(
    "content",
    [b"", b"text", b"\x80\x04.", pickle.dumps(Payload(), 2), pickle.dumps({"model_state_dict": {}}, 2), b"PK\x03\x04rest"],
    ids=["empty", "text", "half", "payload", "other", "zip"],
)
def test_a_file_that_holds_no_such_weights_is_one_line(weights: Path, content: bytes) -> None:
    weights.write_bytes(content)
    with pytest.raises(ScenarioError, match=r"dynamics of building home cannot be built from .*weights\.pth") as error:
        check(weights)
    assert "\n" not in str(error.value)
    assert "weights_only" not in str(error.value)
    check(weights, include=False)


def test_a_huge_file_is_not_read(weights: Path) -> None:
    with weights.open("r+b") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(ScenarioError, match="more than 256 MiB"):
        check(weights)


def test_a_file_of_torch_with_a_payload_runs_nothing(weights: Path) -> None:
    torch.save({"model_state_dict": Payload()}, weights)
    with pytest.raises(ScenarioError, match="UnpicklingError"):
        check(weights)
    weights.unlink()
    with pytest.raises(ScenarioError, match="FileNotFoundError"):
        check(weights)


@pytest.mark.parametrize(
    "change", [{"hidden_size": 3}, {"hidden_size": "2"}, {"unknown": 1}, {"input_normalization_minimum": [1]}]
)
def test_attributes_of_another_network_are_one_line(weights: Path, change: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError, match="cannot be built") as error:
        check(weights, **change)
    assert "\n" not in str(error.value)


def test_all_buildings_with_wrong_weights_are_named_at_once(weights: Path) -> None:
    files = {"first": weights.name, "sound": weights.name, "second": "none.pth"}
    of = {name: {"dynamics": {"type": KIND, "attributes": ATTRIBUTES | {"filename": file}}} for name, file in files.items()}
    of["first"]["dynamics"]["attributes"]["hidden_size"] = 3
    with pytest.raises(ScenarioError) as error:
        check_dynamics(weights, {"root_directory": str(weights.parent), "buildings": of})
    first, second = str(error.value).splitlines()
    assert "building first cannot" in first
    assert "building second cannot" in second


@pytest.mark.usefixtures("faked")
def test_simulators_of_other_scenarios_rewards_and_trust_are_kept_apart(small_schema: Path) -> None:
    simulators = SimulatorPool()

    def lent(site: Scenario, with_reward: bool = False) -> CityLearnSimulator:
        with simulators.lend(site, 0, with_reward) as simulator:
            return simulator

    site = scenario(str(small_schema))
    own = lent(site, with_reward=False)
    assert lent(replace(site, schema=Path("other.json"))) is not own
    assert lent(site, with_reward=True) is not own
    assert lent(replace(site, trusted=True)) is not own
    assert lent(site) is own


@pytest.mark.usefixtures("faked")
def test_a_loan_ends_with_its_block_and_an_error_drops_the_simulator(small_schema: Path) -> None:
    simulators, site = SimulatorPool(), scenario(str(small_schema))
    with simulators.lend(site, 0) as first, simulators.lend(site, 0) as second:
        assert second is not first

    def fail() -> None:
        with simulators.lend(site, 0) as again:
            assert again is first
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with simulators.lend(site, 0) as other:
        assert other is second


ROWS = 1001
COUNTER = itertools.count()


@dataclass(frozen=True)
class Series:
    load: np.ndarray
    steps_per_hour: int = 1


class Fake:
    """In place of a CityLearn simulator, which takes seconds to build; one of its figures can be made to differ."""

    rows = ROWS
    action_low, action_high = -np.ones(2), np.ones(2)
    observation_names: Sequence[str] = ("state", "empty", "added")
    begun = start = hour = 0
    state = 0.0
    differs: Callable[[Fake], dict[str, float]] = staticmethod(lambda self: {})

    def __init__(self, schema_path: Path = Path("schema.json"), with_reward: bool = False, trusted: bool = False) -> None:
        self.schema_path, self.with_reward, self.trusted = schema_path, with_reward, trusted
        self.exogenous = self.sessions = Series(np.array([1.0, np.nan, self._added("series")]))

    def _added(self, name: str) -> float:
        return type(self).differs(self).get(name, 0.0)

    def begin(self, start: int, hours: int, seed: int) -> np.ndarray:
        self.begun += 1
        self.start, self.hour, self.state = start, 0, float(start)
        return np.array([self.state])

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, float]:
        self.hour += 1
        self.state += float(actions.sum())
        return np.array([self.state, np.nan, self._added("observations")]), 0.0

    def net_kwh(self, step: int) -> np.ndarray:
        return np.array([self.state + self._added("consumption")])

    def indoor_temperatures(self, step: int) -> np.ndarray:
        return np.array([20.0 + self._added("temperatures")])


@pytest.fixture
def faked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator_module, "CityLearnSimulator", Fake)


@pytest.mark.usefixtures("faked")
def test_runs_that_are_alike_pass() -> None:
    check_repeats(Fake())  # type: ignore[arg-type]


@pytest.mark.usefixtures("faked")
@pytest.mark.parametrize(
    ("differs", "message"),
    [
        (lambda own: {"series": float(next(COUNTER))}, "other series of its files each time"),
        (lambda own: {"observations": float(next(COUNTER))}, "differ in the observation added after hour 1,"),
        (lambda own: {"consumption": float(next(COUNTER))}, "differ in consumption after hour 1,"),
        # Dropout sets in once the network has seen enough hours.
        (lambda own: {"temperatures": next(COUNTER) * (own.hour > 12)}, "differ in indoor temperatures after hour 13,"),
        # The used simulator has run through the same hours before.
        (lambda own: {"consumption": float(own.begun)}, "differ in consumption after hour 1,"),
        # In the middle of the year alone.
        (lambda own: {"consumption": next(COUNTER) * (own.start == 416)}, "differ in consumption after hour 417,"),
    ],
    ids=["series", "observations", "consumption", "dropout", "outlives", "middle"],
)
def test_whatever_differs_is_named(
    monkeypatch: pytest.MonkeyPatch, differs: Callable[[Fake], dict[str, float]], message: str
) -> None:
    monkeypatch.setattr(Fake, "differs", staticmethod(differs))
    with pytest.raises(ScenarioError, match=message) as error:
        check_repeats(Fake())  # type: ignore[arg-type]
    assert "\n" not in str(error.value)
    assert "random_seed" in str(error.value)


def test_runs_with_occupants_repeat_though_citylearn_restores_no_temperature_of_them(
    small_schema: Path, tmp_path: Path
) -> None:
    path = with_people(small_schema, tmp_path)
    simulator = CityLearnSimulator(path, with_reward=False, trusted=True)
    check_repeats(simulator)
    (building,) = simulator.env.buildings
    series = building.energy_simulation.indoor_dry_bulb_temperature_cooling_set_point
    assert len(np.unique(series)) > 1, "people changed it"
    with pytest.raises(ScenarioError, match="building mall has occupants, and its hvac_mode is 0 in some rows"):
        CityLearnSimulator(with_series(path, hvac_mode=0), with_reward=False, trusted=True)


def noisy(schema: dict[str, Any]) -> None:
    building = schema["buildings"]["mall"]
    building["noise_std"] = 0.1
    for charger in building["chargers"].values():
        charger["noise_std"] = 0.1


def test_noise_is_that_of_the_schemas_seed_and_no_random_number_of_others_is_taken(small_schema: Path, tmp_path: Path) -> None:
    with SIMULATORS.lend(scenario(str(small_schema)), 0) as simulator:
        check_repeats(simulator)
    np.random.seed(3)
    before = np.random.get_state()[1:3]
    noise = CityLearnSimulator(edited(small_schema, tmp_path / "noise", noisy), with_reward=False)
    assert [np.array_equal(*pair) for pair in zip(np.random.get_state()[1:3], before, strict=True)] == [True, True]
    assert not np.array_equal(noise.exogenous.carbon, simulator.exogenous.carbon)
    check_repeats(noise)
    path = edited(noise.schema_path.parent / "schema.json", tmp_path / "unseeded", put("random_seed", value=None))
    with pytest.raises(ScenarioError, match="other series"):
        check_repeats(CityLearnSimulator(path, with_reward=False))


@pytest.mark.parametrize("error", ["Unknown action name: toaster", "no such column"])
def test_a_controller_that_lacks_a_device_is_left_out_and_no_other_error_is_hidden(
    small_schema: Path, monkeypatch: pytest.MonkeyPatch, error: str
) -> None:
    from citylearn.agents import rbc

    def fail(env: object) -> None:
        raise ValueError(error)

    monkeypatch.setattr(rbc, "BasicRBC", fail)
    simulator = CityLearnSimulator(small_schema, with_reward=False)
    if error == "no such column":
        with pytest.raises(ValueError, match=error):
            read_rules(simulator)
    else:
        found = read_rules(simulator)
        assert found
        assert "BasicRBC" not in found


@pytest.mark.parametrize(
    ("name", "why"), [("json.Nope", "has no attribute 'Nope'"), ("json.JSONDecoder", "unexpected keyword")]
)
def test_a_class_of_the_users_with_which_citylearn_fails_is_named(
    small_schema: Path, tmp_path: Path, name: str, why: str
) -> None:
    path = edited(small_schema, tmp_path, put("buildings", "mall", "type", value=name))
    with pytest.raises(ScenarioError, match=rf"own, such as buildings\.mall\.type {name} \(.*{why}.*\); correct their names"):
        CityLearnSimulator(path, with_reward=False, trusted=True)


def test_a_site_without_an_action_is_told_with_its_remedy(small_schema: Path, tmp_path: Path) -> None:
    path = edited(small_schema, tmp_path, lambda schema: [action.update(active=False) for action in schema["actions"].values()])
    with pytest.raises(ScenarioError, match="no action is active, so nothing can be controlled; activate one"):
        CityLearnSimulator(path, with_reward=False)


def charger(state: list[int], countdown: list[int], arrival: list[float], **more: object) -> SimpleNamespace:
    """A charger with one vehicle named `a`, as CityLearn has it."""
    rows = len(state)
    series = SimpleNamespace(
        electric_vehicle_charger_state=np.array(state),
        electric_vehicle_id=np.array(["a"] * rows, dtype=object),
        electric_vehicle_session_id=np.array([np.nan] * rows, dtype=object),
        electric_vehicle_departure_time=np.array(countdown),
        electric_vehicle_required_soc_departure=np.full(rows, 0.8),
        electric_vehicle_estimated_soc_arrival=np.array(arrival),
        **more,
    )
    return SimpleNamespace(
        charger_id="c", charger_simulation=series, max_discharging_power=0.0, efficiency=0.9, charge_efficiency_curve=None,
        discharge_efficiency_curve=None,
    )  # fmt: skip


def building(*chargers: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(electric_vehicle_chargers=chargers)


def vehicle() -> SimpleNamespace:
    return SimpleNamespace(
        name="a", battery=SimpleNamespace(capacity=5.0, initial_soc=0.4, power_efficiency_curve=[[0.0, 1.0], [0.64, 0.81]])
    )


def sessions_of(state: list[int], countdown: list[int], arrival: list[float], **more: object) -> Sessions:
    return read_sessions([building(charger(state, countdown, arrival, **more))], [vehicle()], len(state))


@pytest.mark.parametrize(
    ("state", "countdown", "arrival", "expected"),
    [
        ([AWAY, COMING, PLUGGED, PLUGGED, AWAY], [0, 0, 2, 1, 0], [-0.1, 0.3, 0.9, 0.9, -0.1], [(2, 3, 0.3)]),
        # A countdown that starts again begins a new session.
        ([AWAY, *[PLUGGED] * 4, AWAY], [0, 2, 1, 2, 1, 0], [-0.1, 0.2, 0.2, 0.4, 0.4, -0.1], [(1, 2, 0.2), (3, 4, 0.4)]),
        # Where the data say nothing of a vehicle that is there at first, the schema does.
        ([PLUGGED, PLUGGED, AWAY], [2, 1, 0], [0.3, -0.1, -0.1], [(0, 1, 0.3)]),
        ([PLUGGED, PLUGGED, AWAY], [2, 1, 0], [-0.1, -0.1, -0.1], [(0, 1, 0.4)]),
        # What the data cut off lasts to their end.
        ([AWAY, PLUGGED, PLUGGED], [0, 5, 4], [-0.1, 0.2, 0.2], [(1, 2, 0.2)]),
    ],
    ids=["announced", "anew", "at first", "unknown", "cut off"],
)
def test_a_session_lasts_as_its_vehicle_is_there_and_begins_with_the_charge_that_was_told(
    state: list[int], countdown: list[int], arrival: list[float], expected: list[tuple[int, int, float]]
) -> None:
    found = sessions_of(state, countdown, arrival)
    assert list(zip(found.start.tolist(), found.end.tolist(), found.arrival_soc.tolist(), strict=True)) == expected


def test_a_measured_charge_goes_before_an_announced_one() -> None:
    measured = {"electric_vehicle_current_soc": np.array([np.nan, np.nan, 0.6, np.nan])}
    found = sessions_of([AWAY, COMING, PLUGGED, AWAY], [0, 0, 1, 0], [-0.1, 0.3, -0.1, -0.1], **measured)
    assert found.arrival_soc.tolist() == [0.6]


def test_sessions_know_their_building_and_what_their_charger_can() -> None:
    state, countdown, arrival = [AWAY, PLUGGED, AWAY], [0, 1, 0], [-0.1, 0.2, -0.1]
    chargers = [charger(state, countdown, arrival) for _ in range(3)]
    chargers[1].max_discharging_power = 7.0
    curve = [[0.0, 1.0], [0.7, 0.8]]
    chargers[1].charge_efficiency_curve = chargers[2].charge_efficiency_curve = chargers[2].discharge_efficiency_curve = curve
    found = read_sessions([building(chargers[0]), building(*chargers[1:])], [vehicle()], 3)
    assert (found.building.tolist(), found.gives.tolist()) == ([0, 1, 1], [False, True, False])
    # At the best power, and in the better direction: of the charger 0.9 and 0.8, of the vehicle's battery the root of 0.81.
    assert found.efficiency == pytest.approx([0.81, 0.81, 0.72])


def test_measured_charges_outside_0_to_1_are_none() -> None:
    measured = {"electric_vehicle_current_soc": np.array([-0.1, 0.0, 1.0, 80.0])}
    found = current_soc(charger([AWAY] * 4, [0] * 4, [0.0] * 4, **measured), 4)
    assert np.array_equal(found, [np.nan, 0.0, 1.0, np.nan], equal_nan=True)
    assert np.isnan(current_soc(charger([AWAY] * 4, [0] * 4, [0.0] * 4), 4)).all()
