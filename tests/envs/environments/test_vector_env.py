"""The batch backend keeps the contract of the environment that CityLearn steps."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from common.units import DAY
from envs.district import BUILDING_REWARDS
from envs.environments import year_cache
from envs.environments.site_env import SiteEnv, SiteEnvs
from envs.environments.vector_env import SiteVectorEnv, WindowsEnv, _open_year
from envs.objective.reference import Reference
from envs.objective.reward import RewardName
from envs.objective.weights import DEFAULT, Weights
from envs.observation import DAY_PEAK_NAME
from envs.scenarios.iquitos.site import ROWS
from envs.scenarios.scenario import Scenario, Splits, Window, scenario
from envs.task import SiteTask
from tests.envs.models import with_dynamics
from tests.envs.schema_changes import SET_POINTS, STEPS, in_steps, with_series

WINDOWS = (Window(0, 0, 4 * DAY), Window(0, 12 * DAY + 15, 3 * DAY + 4), Window(0, 29 * DAY, 5 * DAY))


def policy(observations: np.ndarray) -> np.ndarray:
    """Something that depends on all that is observed."""
    weights = np.random.default_rng(0).normal(size=(observations.shape[1], 5))
    return np.tanh(observations @ weights).astype(np.float32)


def half(observations: np.ndarray) -> np.ndarray:
    """All devices at half of their power."""
    return np.zeros((len(observations), 2), np.float32)


def drawn(seed: int) -> Weights:
    """Weights at random, the day's peaks among them."""
    return Weights(*np.random.default_rng(seed).uniform(0.01, 1.0, 6).tolist())


@pytest.fixture(params=["small_schema", "quarters"])
def either(request: pytest.FixtureRequest) -> Scenario:
    """The small site in steps of an hour, and of a quarter of it."""
    return scenario(str(request.getfixturevalue(request.param)))


@pytest.mark.parametrize(("reward", "weights"), [("improvement", DEFAULT), ("schema", DEFAULT), ("improvement", drawn(1))])
def test_both_backends_judge_a_policy_alike(either: Scenario, reward: str, weights: Weights) -> None:
    batch = WindowsEnv(either, WINDOWS, reward, weights)  # type: ignore[arg-type]
    citylearn = SiteEnv(either, WINDOWS, "sequence", reward, weights=weights)  # type: ignore[arg-type]
    moved = set[str]()
    for found, expected in zip(batch.episodes(policy), citylearn.episodes(policy), strict=True):
        moved |= {name for name, term in found.terms.items() if term}
        assert found.window == expected.window
        assert found.reward == pytest.approx(expected.reward, rel=1e-9)
        assert found.terms == pytest.approx(expected.terms, rel=1e-9)
        np.testing.assert_array_equal(found.run.net_kwh, expected.run.net_kwh)
        np.testing.assert_array_equal(found.run.battery_kwh, expected.run.battery_kwh)
        np.testing.assert_array_equal(found.run.missing_kwh, expected.run.missing_kwh)
        # CityLearn adds up chargers in float32, its adapter in float64.
        np.testing.assert_allclose(found.run.charging_kwh, expected.run.charging_kwh, atol=1e-5)
        np.testing.assert_allclose(found.run.baseline_kwh, expected.run.baseline_kwh, atol=1e-4)
    citylearn.close()
    # The site has no model of the temperature.
    weighed = {name for name, weight in weights.by_term().items() if weight > 0.0 and name != "comfort"}
    assert moved == weighed or reward == "schema"


@STEPS
def test_both_backends_rate_comfort_alike_and_a_weight_of_0_alone_leaves_it_out(
    small_schema: Path, tmp_path: Path, per_hour: int
) -> None:
    people = {"occupant_count": (np.arange(ROWS) % 24 > 6).astype(int), "comfort_band": 0.5, **SET_POINTS}
    path = with_series(with_dynamics(small_schema, tmp_path / "hours"), **people)
    site = scenario(str(in_steps(path, tmp_path / "steps", per_hour)))
    found = [*WindowsEnv(site, WINDOWS).episodes(half)]
    assert any(abs(batch.terms["comfort"]) > 0.1 for batch in found)
    citylearn = SiteEnv(site, WINDOWS, "sequence")
    for batch, expected in zip(found, citylearn.episodes(half), strict=True):
        assert batch.terms["comfort"] == pytest.approx(expected.terms["comfort"], rel=1e-4)
        assert batch.reward == pytest.approx(expected.reward, rel=1e-4)
    citylearn.close()
    for weights, same in ((("co2=1",), True), (("co2=1", "comfort=0"), False)):
        of_weights = [*WindowsEnv(site, WINDOWS, weights=Weights.parse(weights)).episodes(half)]
        assert [own.terms["comfort"] for own in of_weights] == [own.terms["comfort"] * same for own in found]


@pytest.mark.parametrize("weights", [DEFAULT, drawn(3)])
def test_both_backends_show_the_same_observations_spaces_and_ends(either: Scenario, weights: Weights) -> None:
    window = Window(0, 27 * DAY + 3, 4 * DAY)
    single = SiteEnv(either, [window], "sequence", weights=weights)
    many = SiteVectorEnv(either, [window], 1, weights=weights)
    seen = many.layout.names[-1] == DAY_PEAK_NAME
    assert seen == weights.observes_day_peak
    peaks = set()
    assert many.single_observation_space == single.observation_space
    assert many.single_action_space == single.action_space
    expected, _ = single.reset()
    many.simulator.begin(0, 0, window.start, window.hours, 0)
    for _ in range(window.hours):
        np.testing.assert_array_equal(many.simulator.observation[0], expected)
        peaks.add(float(expected[len(many.layout.names) - 1]))
        action = policy(expected[np.newaxis])
        expected, reward, terminated, truncated, _ = single.step(action[0])
        _, rewards, terminations, truncations, _ = many.step(action)
        assert rewards[0] == pytest.approx(reward, rel=1e-9)
        assert (terminations[0], truncations[0]) == (terminated, truncated)
    np.testing.assert_array_equal(many.simulator.observation[0], expected)
    assert truncations[0]
    # At midnight -1, and other values as the day goes on.
    assert not seen or (-1.0 in peaks and len(peaks) > 5)
    single.close()


def test_a_copy_begins_another_episode_at_the_step_after_its_end(site: Scenario) -> None:
    env = SiteVectorEnv(site, [Window(0, start, 3 * DAY) for start in range(0, 30 * DAY, DAY)], num_envs=4)
    assert env.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    env.reset(seed=1)
    over = np.zeros(4, dtype=bool)
    lengths: list[list[int]] = [[0] for _ in range(4)]
    for _ in range(12 * DAY):
        _, rewards, terminated, truncated, _ = env.step(np.ones((4, 5), dtype=np.float32))
        assert not terminated.any()
        # The step that begins an episode is none: no reward, no end.
        assert (rewards[over] == 0.0).all()
        assert not truncated[over].any()
        for b in np.flatnonzero(~over):
            lengths[b][-1] += 1
        for b in np.flatnonzero(truncated):
            lengths[b].append(0)
        over = truncated
    assert all(length == 3 * DAY for own in lengths for length in own[1:-1])
    # The first episodes end at different hours.
    assert len({own[0] for own in lengths}) == 4


def test_a_seed_repeats_everything_and_another_differs(small_schema: Path) -> None:
    def run(seed: int) -> np.ndarray:
        env = SiteTask(str(small_schema)).training_env(3)
        observations = [env.reset(seed=seed)[0].copy()]
        for step in range(2 * DAY):
            actions = np.random.default_rng(step).uniform(-1.0, 1.0, (3, 5)).astype(np.float32)
            observations.append(env.step(actions)[0].copy())
        return np.array(observations)

    first, again, other = run(0), run(0), run(1)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_several_years_share_a_batch_and_start_all_over_them(small_schema: Path) -> None:
    site = scenario(str(small_schema), splits=Splits(train=("0-9", "12-21"), validation=("24",), test=("30",)))
    windows = [Window(year, start, 2) for year in site.years("train") for start in range(0, 10 * DAY, DAY)]
    env = SiteVectorEnv(site, windows, num_envs=16)
    env.reset(seed=0)
    days = set()
    for _ in range(30):
        env.step(np.zeros((16, env.simulator.actions), dtype=np.float32))
        hours = env.simulator._rows.hour[env.simulator.row]
        days |= set(zip(hours["year"].tolist(), hours["day"].tolist(), strict=True))
    assert days == {(year, day) for year in range(2) for day in range(10)}


def test_an_impossible_state_is_refused(small_schema: Path) -> None:
    env = SiteTask(str(small_schema)).training_env(3)
    env.reset(seed=0)
    env.step(np.zeros((3, 5), np.float32))
    unwrapped: SiteVectorEnv = env.unwrapped  # type: ignore[assignment]
    state = unwrapped.get_state()
    unwrapped.set_state(state)
    state["random"] = None
    with pytest.raises(ValueError, match="random generator"):
        unwrapped.set_state(state)


HOURS = 30


@pytest.mark.parametrize("reward", ["improvement", "schema"])
@pytest.mark.parametrize("start", [0, 100])
def test_both_backends_split_a_reward_alike(four_buildings: Path, reward: RewardName, start: int) -> None:
    check_split(four_buildings, reward, start, tolerance=1e-6)


def test_both_backends_split_the_term_comfort_alike(thermal_schema: Callable[[str], Path]) -> None:
    # Temperatures differ in their last digits.
    check_split(thermal_schema("citylearn_challenge_2023_phase_1"), "improvement", 24, tolerance=1e-3)


def check_split(schema: Path, reward: RewardName, start: int, tolerance: float) -> None:
    site, windows = scenario(str(schema)), (Window(0, start, HOURS),)
    batch, single = SiteVectorEnv(site, windows, 1, reward), SiteEnvs(site, windows, 1, reward)
    for env in (batch, single):
        env.split_rewards()
        env.reset(seed=0)
    # Both from one charge, which each of them draws for itself.
    batch.simulator.begin(0, 0, start, HOURS, 1, 0.4)
    one: Any = single.envs[0]
    one._begin(1, 0.4)
    rng = np.random.default_rng(0)
    for _ in range(HOURS):
        actions = rng.uniform(-1.0, 1.0, (1, batch.simulator.actions))
        _, rewards, *_, infos = batch.step(actions)
        _, others, *_, info = single.step(actions)
        assert infos[BUILDING_REWARDS].shape == (1, batch.simulator.net_buildings)
        np.testing.assert_allclose(infos[BUILDING_REWARDS], info[BUILDING_REWARDS], rtol=1e-5, atol=tolerance)
        np.testing.assert_allclose(rewards, others, rtol=1e-5, atol=tolerance)
        if reward == "schema":
            np.testing.assert_array_equal(infos[BUILDING_REWARDS], np.full(infos[BUILDING_REWARDS].shape, rewards[0]))
    single.close()


def test_all_windows_of_a_year_take_one_reading_of_its_uncontrolled_run(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = list[int]()
    before = year_cache.cached_reference

    def noted(scenario: Scenario, year: int, *others: Any) -> Reference:
        read.append(year)
        return before(scenario, year, *others)

    monkeypatch.setattr(year_cache, "cached_reference", noted)
    _open_year.cache_clear()
    for _ in range(2):
        WindowsEnv(site, WINDOWS)
    assert len(WINDOWS) > len(read) == len({window.year for window in WINDOWS})


def test_without_a_request_nothing_is_split(four_buildings: Path) -> None:
    site, windows = scenario(str(four_buildings)), (Window(0, 0, HOURS),)
    env = SiteVectorEnv(site, windows, 2)
    env.reset(seed=0)
    assert env.step(np.zeros((2, env.simulator.actions)))[-1] == {}
