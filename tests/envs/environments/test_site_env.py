"""The environment keeps gymnasium's contract and the reward's promise."""

import math
import warnings
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from common.errors import ScenarioError
from common.units import DAY
from envs.environments.site_env import SiteEnv, SiteEnvs
from envs.objective.evaluate import TRAINING_HOURS, evaluate, score
from envs.scenarios.scenario import Window, scenario, training_starts
from envs.task import SiteTask


def random_env(schema: Path) -> SiteEnv:
    site = scenario(str(schema))
    return SiteEnv(site, training_starts(site.windows("train"), TRAINING_HOURS), "random")


@pytest.fixture(scope="module")
def env(small_schema: Path):  # type: ignore[no-untyped-def]
    env = random_env(small_schema)
    yield env
    env.close()


def window_env(schema: Path, *windows: Window, reward: str = "improvement") -> SiteEnv:
    return SiteEnv(scenario(str(schema)), windows, "sequence", reward)  # type: ignore[arg-type]


def test_gymnasium_accepts_it(small_schema: Path) -> None:
    env = random_env(small_schema)
    with warnings.catch_warnings():
        warnings.filterwarnings("error")
        warnings.filterwarnings("ignore", message=".*render modes.*")
        check_env(env)
    env.close()


def test_an_episode_is_truncated_at_its_windows_end_and_never_terminated(small_schema: Path) -> None:
    env = window_env(small_schema, Window(0, DAY, 2 * DAY))
    env.reset()
    ends = [env.step(env.action_space.sample())[2:4] for _ in range(2 * DAY)]
    assert ends == [(False, False)] * (2 * DAY - 1) + [(False, True)]


def test_the_uncontrolled_site_scores_zero_over_parts_of_a_month(small_schema: Path) -> None:
    env = window_env(small_schema, Window(0, 3 * DAY, 5 * DAY), Window(0, 29 * DAY, 5 * DAY))
    (evaluation,) = evaluate(env, lambda _: env.present.uncontrolled_actions())
    assert score([evaluation]) == pytest.approx(0.0, abs=1e-6)
    assert all(term == pytest.approx(0.0, abs=1e-6) for term in evaluation.terms.values())
    assert evaluation.kpis["bill"] == pytest.approx(evaluation.uncontrolled["bill"], rel=1e-6)
    assert evaluation.kpis["demand_charge"] > 0.0
    env.close()


def test_a_reward_of_the_schema_that_is_no_number_is_named(small_schema: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envs.citylearn_backend.simulator._total", lambda rewards: math.nan)
    for reward, ends in (("schema", True), ("improvement", False)):
        env = window_env(small_schema, Window(0, 30, 4), reward=reward)
        env.reset()
        with pytest.raises(ScenarioError, match="the schema's reward is nan in row 30") if ends else nullcontext():
            env.step(env.action_space.sample())


def test_an_evaluation_gives_no_energy_away(small_schema: Path) -> None:
    env = window_env(small_schema, Window(0, 0, 2 * DAY))
    observation, _ = env.reset()
    soc = env.layout.names.index("electrical_storage_soc")
    assert (observation[soc] + 1.0) / 2.0 == pytest.approx(0.2)
    env.close()


def test_training_starts_with_batteries_of_any_charge(env: SiteEnv) -> None:
    soc = env.layout.names.index("electrical_storage_soc")
    charges = [(env.reset(seed=seed)[0][soc] + 1.0) / 2.0 for seed in range(12)]
    assert min(charges) >= 0.2 - 1e-6
    assert max(charges) - min(charges) > 0.3


def test_rewards_add_up_to_the_savings_that_the_kpis_show(small_schema: Path) -> None:
    env = window_env(small_schema, Window(0, 0, 8 * DAY))
    rng = np.random.default_rng(0)
    (evaluation,) = evaluate(env, lambda _: rng.uniform(-1.0, 1.0, (1, *env.action_space.shape)))
    now, before, scale, hours = evaluation.kpis, evaluation.uncontrolled, env.reference.scale, 8 * DAY
    for term, weight, kpi, mean, within in (
        ("co2", 0.50, "co2_kg", scale["co2"], 1e-4), ("cost", 0.15, "bill", scale["cost"], 1e-4),
        ("ev", 0.10, "ev_missing_kwh", scale["ev"], 1e-4), ("grid", 0.05, "ramping_kwh", scale["grid"], 1e-2),
    ):  # fmt: skip
        assert evaluation.terms[term] == pytest.approx(weight * (before[kpi] - now[kpi]) / hours / mean, rel=within), term
    used = [k["self_consumption"] * k["pv_kwh"] for k in (now, before)]
    assert evaluation.terms["solar"] == pytest.approx(0.20 * (used[0] - used[1]) / hours / scale["solar"], rel=1e-4)
    assert evaluation.score == pytest.approx(sum(evaluation.terms.values()))
    env.close()


def test_the_months_peaks_so_far_are_observed(small_schema: Path) -> None:
    env = window_env(small_schema, Window(0, 30 * DAY, 3 * DAY))
    high = env.layout.high[env.layout.names.index("month_peak_hours_import")]
    columns = [env.layout.scaled_names.index(name) for name in ("month_peak_hours_import", "month_off_peak_import")]
    observation, _ = env.reset()
    months = env.reference.exogenous.month
    imports: list[list[float]] = [[], []]
    for step in range(3 * DAY):
        row = env.simulator.row
        if row and months[row] != months[row - 1]:
            imports = [[], []]
        expected = [max(values, default=0.0) for values in imports]
        np.testing.assert_allclose((observation[columns] + 1.0) / 2.0 * high, expected, rtol=1e-4, atol=0.5)
        observation, *_ = env.step(np.zeros(env.action_space.shape))
        net = float(env.simulator.net_kwh(step).sum())
        imports[0 if env.reference.exogenous.hour[row] in (18, 19, 20, 21, 22) else 1].append(max(0.0, net))
    env.close()


def test_a_seed_repeats_an_episode_and_another_differs(env: SiteEnv) -> None:
    def episode(seed: int) -> list[float]:
        env.reset(seed=seed)
        env.action_space.seed(0)
        return [float(env.step(env.action_space.sample())[1]) for _ in range(DAY)]

    first, second, other = episode(1), episode(1), episode(2)
    assert first == second != other


def test_actions_beyond_the_box_are_clipped(small_schema: Path) -> None:
    env = window_env(small_schema, Window(0, 0, DAY))
    rewards = []
    for size in (1.0, 50.0):
        env.reset()
        rewards.append([env.step(np.full(env.action_space.shape, size))[1] for _ in range(DAY)])
    assert rewards[0] == rewards[1]
    env.close()


def test_two_environments_of_a_process_do_not_disturb_each_other(small_schema: Path) -> None:
    alone, disturbed = [], []
    for rewards, with_other in ((alone, False), (disturbed, True)):
        env = window_env(small_schema, Window(0, 0, DAY))
        env.reset()
        other = SiteTask(str(small_schema), backend="citylearn", validation_weeks=1).evaluation_env() if with_other else None
        for _ in range(DAY):
            rewards.append(env.step(np.ones(env.action_space.shape))[1])
            if other:
                other.reset()
        env.close()
        if other:
            other.close()
    assert alone == disturbed


def test_observations_stay_within_bounds_and_use_them(small_schema: Path) -> None:
    env = window_env(small_schema, Window(0, 0, 8 * DAY))
    observations = [env.reset()[0]]
    rng = np.random.default_rng(0)
    observations += [env.step(rng.uniform(-1.0, 1.0, env.action_space.shape))[0] for _ in range(8 * DAY)]
    lowest, highest = np.min(observations, axis=0), np.max(observations, axis=0)
    names = env.layout.scaled_names
    assert np.min(lowest) >= -1.0
    assert np.max(highest) <= 1.0
    clipped = [
        n for n, low, high in zip(names, lowest, highest, strict=True) if "net_electricity" in n and (low == -1 or high == 1)
    ]
    assert clipped == []
    still = {name for name, low, high in zip(names, lowest, highest, strict=True) if low == high}
    assert still <= {name for name in names if "month" in name}
    env.close()


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("window", ("x/../../../escaped", 0, 24)), ("window", (0, 10**9, 24)), ("window", ()), ("drift_seed", "1"),
        ("drift_seed", -1), ("charge", 2.0), ("charge", float("nan")), ("next_window", None), ("actions", [[0.0]] * 10**4),
        ("random", {"bit_generator": "PCG64", "state": {"state": 0, "inc": 0}}),
    ],
)  # fmt: skip
def test_an_impossible_state_is_refused(env: SiteEnv, place: str, value: object) -> None:
    env.reset(seed=1)
    env.step(np.zeros(env.action_space.shape, np.float32))
    state = env.get_state()
    env.set_state(state)
    with pytest.raises(ValueError, match=r"window|numbers that no|do not fit|random generator"):
        env.set_state({**state, place: value})


def test_a_state_of_another_number_of_copies_is_refused(small_schema: Path) -> None:
    site, windows = scenario(str(small_schema)), (Window(0, 0, 24), Window(0, 240, 30))
    two, three = (SiteEnvs(site, windows, copies, "improvement") for copies in (2, 3))
    two.reset(seed=0)
    with pytest.raises(ValueError, match="zip"):
        three.set_state(two.get_state())
    two.close()
    three.close()
