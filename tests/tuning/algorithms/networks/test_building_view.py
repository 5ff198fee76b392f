"""One policy for all buildings: what it sees of each, what it moves, what it learns from, and where else it can act."""

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envs.district import BUILDING_REWARDS, District
from envs.environments.vector_env import SiteVectorEnv, WindowsEnv
from envs.objective.evaluate import evaluate
from envs.objective.weights import DEFAULT
from envs.scenarios.scenario import Window, scenario
from envs.seen import Seen
from envs.task import SiteTask
from tests.tuning.algorithms.match import SMALL, stopped_at_the_end
from tests.tuning.algorithms.networks.test_building_kinds import opened
from tuning.algorithms.memory import Workload
from tuning.algorithms.networks.building_kinds import BuildingKinds, UnfitError
from tuning.algorithms.networks.building_view import BuildingView, BuildingViewEnv
from tuning.algorithms.registry import algorithm
from tuning.algorithms.trainer import Setup
from tuning.memory.prediction import predict, sizes_of

pytestmark = pytest.mark.usefixtures("small_ray")

WINDOWS = (Window(0, 0, 100), Window(0, 300, 100))


def raw_of(site: District, observations: np.ndarray, place: int) -> np.ndarray:
    centre, inverse = (values[place] for values in site.layout.linear)
    return observations[:, place] / inverse + centre


def test_each_building_shows_its_own_features_in_parts_of_its_size(four_buildings: Path) -> None:
    site = opened(four_buildings)
    kinds, env = BuildingKinds.of(site), SiteVectorEnv(scenario(str(four_buildings)), WINDOWS, 2)
    observations, _ = env.reset(seed=0)
    seen = BuildingView(kinds, site).observe(observations).reshape(2, 3, kinds.size)
    low, high = kinds.own_bounds[j := kinds.own.index("non_shiftable_load")]
    loads = np.stack([raw_of(site, observations, site.observations_of(n)["non_shiftable_load"]) for n in range(4)], axis=1)
    power = np.array(site.buildings.power_kw)

    def scaled(values: np.ndarray) -> np.ndarray:
        return (values - (low + high) / 2.0) / ((high - low) / 2.0)

    np.testing.assert_allclose(seen[:, :, j], scaled(loads / power)[:, :3], atol=1e-5)
    # The district's, over all buildings, is the same for each.
    of_all = len(kinds.own) + len(kinds.fixed) + j
    np.testing.assert_allclose(seen[:, :, of_all], np.repeat(scaled(loads.sum(axis=1) / power.sum())[:, None], 3, 1), atol=1e-5)
    # A building without PV generates nothing, which is not the middle of the bounds.
    low, high = kinds.own_bounds[j := kinds.own.index("solar_generation")]
    np.testing.assert_allclose(seen[:, 1, j], scaled(np.zeros(2)), atol=1e-6)
    has = len(kinds.own) + kinds.fixed.index("has solar_generation")
    assert seen[0, :, has].tolist() == [1.0, 0.0, 1.0]


def test_the_number_of_equal_buildings_does_not_matter(two_buildings: Path) -> None:
    site = opened(two_buildings)
    own, raw = site.buildings, len(site.buildings.observations)
    layout = site.layout
    twice = [i for i, n in enumerate(own.observations) if n >= 0]
    many = District(
        replace(
            layout,
            **{
                name: (*values[:raw], *(values[i] for i in twice), *values[raw:])
                for name, values in {"names": layout.names, "low": layout.low, "high": layout.high}.items()
            },
        ),
        replace(
            own,
            observations=(*own.observations, *(own.observations[i] + 2 for i in twice)),
            chargers=(*own.chargers, *(raw + twice.index(i) for i in own.chargers)),
            actions=own.actions,
            power_kw=own.power_kw * 2,
            battery_hours=own.battery_hours * 2,
            tank_hours=own.tank_hours * 2,
        ),
    )
    kinds = BuildingKinds.of(site)
    few = np.random.default_rng(0).uniform(-1.0, 1.0, (5, layout.size)).astype(np.float32)
    peaks = kinds.common.index("month_peak_hours_import"), kinds.common.index("month_off_peak_import")
    more = np.concatenate([few[:, :raw], few[:, twice], few[:, raw:]], axis=1)
    seen = [BuildingView(kinds, of).observe(given) for of, given in ((site, few), (many, more))]
    kept = [i for i in range(kinds.size) if i - kinds.size + len(kinds.common) not in peaks]
    # Peaks are of the site, and would be twice as high.
    np.testing.assert_allclose(seen[0][:, kept], seen[1][:, kept], atol=1e-5)


def test_buildings_act_and_earn_for_themselves_and_vehicles_charge_by_the_rule(four_buildings: Path) -> None:
    site, name = opened(four_buildings), scenario(str(four_buildings))
    env = SiteVectorEnv(name, WINDOWS, 2, copy=False)
    seen, step, taken = BuildingViewEnv(env, site, BuildingKinds.of(site)), env.step, []

    def watched(actions: np.ndarray) -> Any:
        taken.append((actions.copy(), env.simulator.uncontrolled_actions()))
        taken.append(step(actions))
        return taken[-1]

    env.step = watched  # type: ignore[method-assign]
    assert seen.num_envs == 6
    seen.reset(seed=0)
    for hour in range(60):
        own = np.random.default_rng(hour).uniform(-1.0, 1.0, (6, 1)).astype(np.float32)
        _, rewards, _, truncated, _ = seen.step(own)
        (given, rule), (_, _, _, over, infos) = taken[-2:]
        np.testing.assert_array_equal(given[:, [0, 3, 5]], own.reshape(2, 3))
        np.testing.assert_allclose(given[:, [1, 2, 4, 6]], rule[:, [1, 2, 4, 6]], atol=0.2)
        np.testing.assert_array_equal(rewards.reshape(2, 3), infos[BUILDING_REWARDS][:, :3])
        np.testing.assert_array_equal(truncated.reshape(2, 3), np.repeat(over[:, None], 3, axis=1))


def test_learned_charging_begins_with_the_uncontrolled_sites(four_buildings: Path) -> None:
    site, name = opened(four_buildings), scenario(str(four_buildings))
    view = BuildingView(BuildingKinds.of(site, learn_charging=True), site)
    env = WindowsEnv(name, WINDOWS)
    (found,) = evaluate(env, lambda seen: view.complete(np.zeros((2 * view.agents, 3), np.float32), seen))
    assert abs(found.kpis["ev_served"] - found.uncontrolled["ev_served"]) < 0.01
    # And reaches full power and none from there.
    observations, _ = SiteVectorEnv(name, WINDOWS, 2).reset(seed=0)
    for extreme in (-1.0, 1.0):
        actions = view.complete(np.full((2 * view.agents, 3), extreme, np.float32), observations)[:, [1, 2, 4, 6]]
        assert (np.clip(actions, -1.0, 1.0) == extreme).all()


def built(schema: Path, algo: str, planned: District | None = None, **given: Any) -> AbstractContextManager[Any]:
    h = algorithm(algo).space.complete({**SMALL[algo], **given}, {"steps": 1024.0})
    task = SiteTask(str(schema), seen=Seen.of(DEFAULT, h))
    setup = Setup(
        h, task.training_env, 4, 1024, 0, False, task.layout().chargers, district=task.district(), planned=planned,
    )  # fmt: skip
    return stopped_at_the_end(algo, setup)


@pytest.mark.parametrize("algo", ["ppo", "a2c", "sac"])
def test_an_hour_of_the_site_is_a_step_and_gives_a_transition_of_each_building(four_buildings: Path, algo: str) -> None:
    with built(four_buildings, algo, shared_policy=True) as trained:
        used = trained.used()
        assert used["shared_policy"] is True
        for name in ("n_steps", "learning_starts", "train_freq"):
            assert used.get(name) == SMALL[algo].get(name)
        assert (used["learn_charging"], used["initial_charging"]) == (False, 1.0)
        assert trained.runner.num_envs == 3 * trained.num_envs
        update = trained.update()
        lifetime = trained.runner.metrics.peek("num_env_steps_sampled_lifetime", default=0) or 3 * update.steps
        assert lifetime == 3 * update.steps
        if algo != "sac":
            assert SMALL[algo]["n_steps"] <= update.steps <= SMALL[algo]["n_steps"] + trained.num_envs


@pytest.mark.slow
@pytest.mark.parametrize("switches", ["learn_charging", "bf16", "torch_compile", "learn_charging bf16 torch_compile"])
@pytest.mark.parametrize("algo", ["ppo", "a2c", "sac"])
def test_it_learns_with_each_switch(four_buildings: Path, algo: str, switches: str) -> None:
    given = dict.fromkeys(switches.split(), True)
    with built(four_buildings, algo, shared_policy=True, **given) as trained:
        assert {name: trained.used()[name] for name in given} == given
        # Of one building, "four", a charger is all that acts.
        assert trained.runner.num_envs == (4 if "learn_charging" in given else 3) * trained.num_envs
        env = SiteVectorEnv(scenario(str(four_buildings)), WINDOWS, 2)
        seen, _ = env.reset(seed=0)
        before = trained.policy()(seen)
        for _ in range(6):
            trained.update()
        after = trained.policy()(seen)
        assert after.shape == env.action_space.shape
        assert np.isfinite(after).all()
        assert not np.allclose(before, after, atol=1e-6)
        (found,) = evaluate(WindowsEnv(scenario(str(four_buildings)), WINDOWS), trained.policy())
        assert np.isfinite(found.score)


@pytest.mark.usefixtures("a_plan")
@pytest.mark.parametrize("algo", ["ppo", "sac"])
def test_its_memory_is_predicted(four_buildings: Path, algo: str) -> None:
    small = {"buffer_size": 600} if algo == "sac" else {}
    with built(four_buildings, algo, shared_policy=True, plan="yesterday", **small) as trained:
        assert trained.used()["plan"] == "yesterday"
        sizes, run = sizes_of(SiteTask(str(four_buildings))), Workload(trained.num_envs, 1024, 2, 4, gpu=False)
        found = {term.name: term.nbytes for term in predict(algorithm(algo), trained.setup.hyperparameters, run, sizes).terms}
        learner, made = trained.learner, []
        # Each weight with its gradient and two numbers of Adam; critics once more as targets.
        numbers = sum(p.numel() * (4 if p.requires_grad else 1) for p in learner.network.parameters())
        assert found["networks and optimizer"] == 4 * numbers
        if algo == "sac":
            assert found["replay buffer"] == trained.replay.nbytes
        else:
            inner = learner.make_batch
            learner.make_batch = lambda episodes: made.append(inner(episodes)) or made[-1]
            trained.update()
            held = sum(tensor.numel() * tensor.element_size() for tensor in vars(made[0]).values())
            # With a copy of a minibatch.
            assert 0.95 * held < found["rollout to learn from"] < 2.05 * held


def test_a_policy_acts_on_buildings_that_it_has_never_seen_in_another_number(four_buildings: Path, two_buildings: Path) -> None:
    with built(four_buildings, "ppo", shared_policy=True) as trained:
        trained.update()
        policy = trained.acting_on(opened(two_buildings)).policy
        env = WindowsEnv(scenario(str(two_buildings)), WINDOWS)
        (found,) = evaluate(env, policy)
        assert np.isfinite(found.kpis["co2_kg"])
        seen = SiteVectorEnv(scenario(str(four_buildings)), WINDOWS, 2).reset(seed=0)[0]
        np.testing.assert_array_equal(trained.acting_on(opened(four_buildings)).policy(seen), trained.policy()(seen))
    with built(four_buildings, "ppo") as trained, pytest.raises(UnfitError, match="shared_policy"):
        trained.acting_on(opened(two_buildings))


@pytest.mark.parametrize("algo", ["ppo", "sac"])
def test_a_single_building_has_nothing_to_share(small_schema: Path, algo: str) -> None:
    weights = []
    for shared in (False, True):
        with built(small_schema, algo, shared_policy=shared) as trained:
            trained.update()
            assert trained.used()["shared_policy"] is False
            weights.append(trained.get_state()["algorithm"]["learner_group"]["learner"]["rl_module"]["default_policy"])
    for name, values in weights[0].items():
        np.testing.assert_array_equal(values, weights[1][name])
