"""A site without its chargers' actions, and as changes of a plan."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest
import torch

from envs.district import District
from envs.environments.seen_year import seen_buildings, shadow
from envs.environments.vector_env import SiteVectorEnv, WindowsEnv, open_years
from envs.environments.year_cache import any_district, district, observation_layout
from envs.objective.evaluate import evaluate
from envs.observation import ChargerGroups
from envs.scenarios.scenario import Scenario, Window, scenario
from envs.seen import Seen
from envs.task import SiteTask
from tests.envs.models import with_rooms
from tests.envs.schema_changes import MALL, drop, edit, put
from tests.envs.tanks import with_tank
from tests.tuning.algorithms.match import FEATURES, MatchVectorEnv, built, groups
from tests.tuning.algorithms.networks.test_building_view import WINDOWS
from tests.tuning.algorithms.networks.test_building_view import built as of_buildings
from tuning.algorithms.networks.views import DEAD_ZONE, TANK_GAP, PlannedActions, ServedDevices, SiteView, ViewEnv
from tuning.exporting.onnx_policy import SitePolicy

pytestmark = pytest.mark.usefixtures("small_ray")

SEEN = Seen(plan="yesterday")


def site_with_plan(schema: Path) -> District:
    site = district(scenario(str(schema)))
    assert site is not None
    bounds = [(-500.0, 500.0) if name == "planned_battery" else (0.0, 1.0) for name in SEEN.own()] * 4 + [(0.0, 9.0)]
    owners = tuple(n for n in range(4) for _ in SEEN.own())
    return District(
        site.layout.seeing(SEEN.names(4), np.array(bounds)),
        replace(site.buildings, observations=(*site.buildings.observations, *owners, -1)),
    )


def scaled(site: District, changes: dict[tuple[int, str], float]) -> torch.Tensor:
    raw = np.array([site.layout.low])
    for (n, kind), value in changes.items():
        raw[0, site.observations_of(n)[kind]] = value
    return torch.from_numpy(site.layout.scale(raw))


def test_it_gives_the_plans_energy_and_closes_the_gap_to_its_charge(four_buildings: Path) -> None:
    site = site_with_plan(four_buildings)
    known = {(n, kind): 0.0 for n in range(3) for kind in ("planned_battery", "planned_soc", "electrical_storage_soc")}
    actions = [site.actions_of(n)["electrical_storage"] for n in range(3)]
    own = {**known, (0, "planned_battery"): 100.0, (1, "planned_soc"): 0.5, (1, "electrical_storage_soc"): 0.45}
    found = PlannedActions(site).rule(scaled(site, own))[0, actions].numpy()
    # 100 of 400 kW; a twentieth of 800 kWh with 100 kW.
    np.testing.assert_allclose(found, [0.25, 0.4, 0.0], atol=1e-5)
    far = PlannedActions(site).rule(scaled(site, {**own, (1, "planned_soc"): 1.0, (1, "electrical_storage_soc"): 0.0}))
    assert float(far[0, actions[1]]) == 1.0


def test_a_tank_takes_what_is_planned_and_closes_the_gap_to_its_charge(small_schema: Path, tmp_path: Path) -> None:
    seen = {"active": True, "shared_in_central_agent": False}
    path = edit(with_tank(small_schema, tmp_path, cooling=True), put("observations", "cooling_storage_soc", value=seen))
    name = scenario(str(path))
    site = any_district(name, False, "train")
    tanks, hours = ("cooling", "dhw"), site.buildings.tank_hours[0]
    simulator = open_years(name, [0], 1)
    low, high = simulator.action_range
    at = {use: site.actions_of(0)[f"{use}_storage"] for use in tanks}
    for use, of in zip(tanks, (hours[0], hours[2]), strict=True):
        assert of == pytest.approx(1.0 / high[at[use]])
        assert low[at[use]] == -high[at[use]]
    names = [f"{use}_storage" for use in tanks]
    own = SEEN.own(names)
    bounds = [(-500.0, 500.0) if kind == "planned_battery" else (-1.0, 1.0) for kind in own] + [(0.0, 9.0)]
    planned = District(
        site.layout.seeing(SEEN.names(1, names), np.array(bounds)),
        replace(site.buildings, observations=(*site.buildings.observations, *(0 for _ in own), -1)),
    )
    known = {(0, kind): 0.0 for kind in ("planned_battery", "planned_soc")}
    known[0, "cooling_storage_soc"] = 0.25
    for use in tanks:
        known |= {(0, f"planned_{use}_storage"): 0.02, (0, f"planned_{use}_soc"): 0.3}
    found = PlannedActions(planned).rule(scaled(planned, known))[0].numpy()
    # Of the hot water no charge is observed, so the plan's energy is all there is.
    np.testing.assert_allclose(found[list(at.values())], [(0.02 + 0.05 * TANK_GAP) * hours[0], 0.02 * hours[2]], rtol=1e-4)


@pytest.mark.parametrize("backend", ["batch", "citylearn"])
def test_without_changes_tanks_follow_the_plan_wherever_they_are(
    small_schema: Path, tmp_path: Path, backend: Literal["batch", "citylearn"]
) -> None:
    name = scenario(str(with_tank(small_schema, tmp_path, cooling=True, twin=True)))
    site, hours, start = seen_buildings(name, SEEN), 60, 240
    planned, layout, shown = PlannedActions(site), site.layout, []
    of = [(0, "dhw"), (1, "cooling"), (1, "dhw")]
    assert "cooling_storage" not in site.actions_of(0)
    env = SiteTask(name.name, backend=backend, seen=SEEN).evaluation_env([Window(0, start, hours)])

    def act(observations: np.ndarray) -> np.ndarray:
        shown.append(observations[0].copy())
        return np.clip(planned.complete(np.zeros((1, len(layout.actions)), np.float32), observations), -1.0, 1.0)

    list(env.episodes(act))
    env.close()
    centre, inverse = (own[: len(layout.names)] for own in layout.linear)
    raw = np.array(shown)[:, : len(layout.names)] / np.where(inverse, inverse, 1.0) + centre
    plans = shadow(name, 0, Seen(plan="yesterday"))
    for n, use in of:
        kinds = site.observations_of(n)
        charge, plan = raw[:, kinds[f"{use}_storage_soc"]], raw[:, kinds[f"planned_{use}_soc"]]
        # Once it has caught up with the plan, it has the plan's charge.
        np.testing.assert_allclose(charge[24:], plan[24:], atol=0.02)
        assert np.ptp(plan[24:]) > 0.1
        at = plans.tank_soc[start : start + hours, n, 0 if use == "cooling" else 1]
        np.testing.assert_allclose(plan, at, atol=1e-4)


def test_without_changes_devices_follow_the_plan_and_policies_begin_there(small_schema: Path, tmp_path: Path) -> None:
    path = with_rooms(small_schema, tmp_path)
    name = scenario(str(path))
    site, plans = seen_buildings(name, SEEN), shadow(name, 0, SEEN)
    cooling = site.actions_of(0)["cooling_device"]
    env = SiteVectorEnv(name, [Window(0, 240, 48)], 1, seen=SEEN)
    observations = env.reset(seed=0)[0]
    rows = []
    for hour in range(47):
        planned = PlannedActions(site).complete(np.zeros((1, len(site.layout.actions)), np.float32), observations)
        rows.append(planned[0, cooling])
        assert planned[0, cooling] == pytest.approx(plans.device[240 + hour, 0, 0], abs=1e-4)
        observations = env.step(planned)[0]
    assert np.ptp(rows) > 0.5
    with of_buildings(path, "ppo", site, plan="yesterday") as trained:
        plan = PlannedActions(site).rule(torch.from_numpy(observations)).numpy()
        np.testing.assert_allclose(trained.policy()(observations)[:, cooling], plan[:, cooling], atol=1e-6)


def test_an_action_without_its_tank_is_left_to_the_policy(small_schema: Path, tmp_path: Path) -> None:
    path = edit(with_tank(small_schema, tmp_path), drop(*MALL, "dhw_storage"))
    site = seen_buildings(scenario(str(path)), SEEN)
    zone = PlannedActions(site).zone
    assert zone[site.actions_of(0)["dhw_storage"]] == 0.0
    assert zone[site.actions_of(0)["electrical_storage"]] > 0.0


def test_small_changes_change_nothing_and_greater_ones_what_they_are_more(four_buildings: Path) -> None:
    site = site_with_plan(four_buildings)
    planned, observations = PlannedActions(site), scaled(site, {(0, "planned_battery"): -100.0})
    plan, others = planned.rule(observations).numpy(), [1, 2, 4, 6]  # chargers
    for change in (0.0, DEAD_ZONE, -DEAD_ZONE):
        given = np.full((1, 7), change, np.float32)
        expected = plan.copy()
        expected[:, others] = change
        np.testing.assert_allclose(planned.complete(given, observations.numpy()), expected, atol=1e-6)
    more = planned.complete(np.full((1, 7), DEAD_ZONE + 0.1, np.float32), observations.numpy())
    np.testing.assert_allclose(more[0, [0, 3, 5]], plan[0, [0, 3, 5]] + 0.1, atol=1e-6)
    wanted = torch.tensor(np.random.default_rng(0).uniform(-1.0, 1.0, (1, 7)), dtype=torch.float32)
    torch.testing.assert_close(planned(planned.inverse(wanted, observations), observations), wanted)


@pytest.mark.parametrize(("algo", "near"), [("ppo", 0.1), ("a2c", 0.1), ("sac", 0.35)])
def test_a_policy_begins_with_what_thermal_devices_do_without_control(algo: str, near: float) -> None:
    weights = [0.5, *(0.0,) * (FEATURES - 1), -0.2]
    site: Any = SimpleNamespace(layout=SimpleNamespace(served=(weights,)))
    observations = np.random.default_rng(0).uniform(-1.0, 1.0, (200, FEATURES)).astype(np.float32)
    expected = 0.5 * observations[:, :1] - 0.2
    devices = ServedDevices(site)
    np.testing.assert_allclose(devices.complete(np.full((200, 1), 0.1), observations), expected + 0.1, atol=1e-6)
    np.testing.assert_allclose(devices.own_actions(expected + 0.1, observations), np.full((200, 1), 0.1), atol=1e-6)
    with built(algo, served=site, normalize_observations=False) as trained:
        assert isinstance(trained.changes, ServedDevices)
        np.testing.assert_allclose((trained.policy()(observations) - expected).mean(), 0.0, atol=near)


@pytest.mark.parametrize("name", ["citylearn_challenge_2023_phase_1", "baeda_3dem"])
def test_without_a_change_people_are_as_comfortable_as_without_control(
    thermal_schema: Callable[[str], Path], name: str
) -> None:
    task = SiteTask(str(thermal_schema(name)))
    devices, rest = ServedDevices(task.buildings()), np.zeros((1, len(task.layout().actions)))
    for own in task.rate(lambda observations: devices.complete(np.repeat(rest, len(observations), 0), observations)):
        assert own.kpis["discomfort"] < own.uncontrolled["discomfort"] + 0.02
        assert abs(own.score) < 0.1


def with_plan(schema: Path) -> tuple[Scenario, District]:
    site = scenario(str(schema))
    return site, seen_buildings(site, SEEN)


def test_an_environment_takes_changes_of_the_plan_and_goes_on_from_its_state(four_buildings: Path) -> None:
    name, site = with_plan(four_buildings)
    first, second = (ViewEnv(SiteVectorEnv(name, WINDOWS, 2, seen=SEEN), PlannedActions(site)) for _ in range(2))
    first.reset(seed=0)
    wanted = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 7)).astype(np.float32)
    np.testing.assert_allclose(first.view.complete(first.own_actions(wanted), first._observations), wanted, atol=1e-5)
    state = first.get_state()
    second.reset(seed=1)
    second.set_state(state)
    rng = np.random.default_rng(1)
    for _ in range(50):
        actions = rng.uniform(-1.0, 1.0, (2, 7)).astype(np.float32)
        for one, other in zip(first.step(actions)[:4], second.step(actions)[:4], strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("shared", [False, True])
def test_a_policy_begins_with_the_plan_whatever_it_acts_for_and_its_export_does_the_same(
    four_buildings: Path, shared: bool
) -> None:
    name, site = with_plan(four_buildings)
    observations = SiteVectorEnv(name, WINDOWS, 4, seen=SEEN).reset(seed=0)[0]
    with of_buildings(four_buildings, "ppo", site, shared_policy=shared, plan="yesterday") as trained:
        policy, batteries = trained.policy(), [0, 3, 5]
        plan = PlannedActions(site).rule(torch.from_numpy(observations)).numpy()
        np.testing.assert_allclose(policy(observations)[:, batteries], plan[:, batteries], atol=1e-6)
        assert trained.used()["plan"] == "yesterday"
        if shared:
            np.testing.assert_allclose(trained.acting_on(site).policy(observations), policy(observations))
        network = SitePolicy(site.layout, trained.view, trained.mode_network(), -np.ones(7), np.ones(7), trained.changes)
        # Raw observations in the middle of their bounds.
        raw = (np.array(site.layout.low) + np.array(site.layout.high))[np.newaxis] / 2.0
        with torch.inference_mode():
            found = network(torch.from_numpy(raw)).numpy()
        np.testing.assert_allclose(found, np.clip(policy(site.layout.scale(raw)), -1.0, 1.0), atol=1e-5)


WEEKS = (Window(0, 0, 168), Window(0, 500, 168))


def test_an_algorithm_sees_and_moves_what_is_no_chargers() -> None:
    chargers = groups(3)
    assert chargers
    env = ViewEnv(MatchVectorEnv(4, chargers=3), SiteView(FEATURES + 3, 4, chargers, 0.25))
    assert env.single_action_space.shape == (1,)
    assert env.single_observation_space.shape == (FEATURES + 1,)
    observations, _ = env.reset(seed=0)
    inner: Any = env.env
    for _ in range(30):
        whole = inner.seen.copy()
        np.testing.assert_allclose(observations[:, :FEATURES], whole[:, :FEATURES])
        np.testing.assert_allclose(observations[:, FEATURES], whole[:, FEATURES:].mean(axis=1), rtol=1e-5)
        taken: list[np.ndarray] = []
        step = inner.step
        inner.step = lambda actions, step=step, taken=taken: taken.append(actions.copy()) or step(actions)
        own = np.random.default_rng(0).uniform(-1.0, 1.0, (4, 1)).astype(np.float32)
        observations, rewards, _, truncated, _ = env.step(own)
        inner.step = step
        np.testing.assert_allclose(taken[0], np.concatenate([own, np.full((4, 3), 0.25)], axis=1))
        assert rewards.shape == truncated.shape == (4,)


def test_vehicles_charge_as_on_the_uncontrolled_site_in_training_and_evaluation(small_schema: Path) -> None:
    site = scenario(str(small_schema))
    layout = observation_layout(site)
    assert layout.chargers is not None
    env = SiteVectorEnv(site, WEEKS, 3, copy=False)
    seen = ViewEnv(env, SiteView(layout.size, len(layout.actions), layout.chargers, 1.0))
    seen.reset(seed=0)
    step, differences = env.step, []

    def watched(actions: np.ndarray) -> Any:
        differences.append(np.abs(actions - env.simulator.uncontrolled_actions()))
        return step(actions)

    env.step = watched  # type: ignore[method-assign]
    for _ in range(100):
        seen.step(np.zeros((3, 1), dtype=np.float32))
    # Losses within batteries differ from vehicle to vehicle, and are in no observation.
    assert np.max(differences) < 0.2
    assert np.mean(differences) < 0.01
    idle = WindowsEnv(site, WEEKS)
    (found,) = evaluate(idle, lambda observations: seen.view.complete(np.zeros((2, 1), np.float32), observations))
    assert abs(found.kpis["ev_served"] - found.uncontrolled["ev_served"]) < 0.01
    assert abs(found.kpis["co2_kg"] / found.uncontrolled["co2_kg"] - 1.0) < 0.002


@pytest.mark.parametrize("algo", ["ppo", "a2c"])
def test_learn_charging_says_what_is_learned(algo: str) -> None:
    for learn, actions in ((True, 4), (False, 1)):
        with built(algo, chargers=3, learn_charging=learn, initial_charging=0.5) as trained:
            used = trained.used()
            assert (used["learn_charging"], used["initial_charging"]) == (learn, 0.5)
            assert trained.learner.network.action_space.shape == (actions,)
            trained.algorithm.train()
            given = trained.policy()(np.random.default_rng(0).uniform(-1.0, 1.0, (5, FEATURES + 3)).astype(np.float32))
            assert given.shape == (5, 4)
            assert (given[:, 1:] == 0.5).all() == (not learn)


def test_without_chargers_there_is_nothing_to_say() -> None:
    with built("ppo") as trained:
        assert trained.view is None
        assert (trained.used()["learn_charging"], trained.used()["initial_charging"]) == (None, None)


def test_a_site_of_chargers_alone_has_to_learn_them() -> None:
    with pytest.raises(ValueError, match="set learn_charging=true"):
        SiteView(3, 2, ChargerGroups(((0,), (1,)), (0, 1)), 1.0)
