"""Lessons as a policy sees them, and regressions on them."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from envs.environments.vector_env import SiteVectorEnv, Start
from envs.environments.year_cache import district, observation_layout
from envs.scenarios.scenario import Window, scenario
from envs.yardsticks.lessons import Lessons
from tuning.algorithms.env_runner import ArrayEnvRunner
from tuning.algorithms.imitation import (
    PATIENCE,
    Demonstrated,
    Demonstration,
    demonstrations,
    fit,
    mean_loss,
    off_range,
    returns,
    take_into_statistics,
)
from tuning.algorithms.networks.building_kinds import BuildingKinds
from tuning.algorithms.networks.building_view import BuildingViewEnv
from tuning.algorithms.networks.views import SiteView, ViewEnv
from tuning.algorithms.preprocessing import ObservationNormalizer, RewardNormalizer

WINDOWS = (Window(0, 0, 30), Window(0, 72, 24), Window(0, 120, 24))


def made_up(actions: int) -> Lessons:
    random = np.random.default_rng(0)
    executed, labels = random.uniform(-1.0, 1.0, (2, 3, 30, actions)).astype(np.float32)
    return Lessons(
        tuple(Start(window, charge) for window, charge in zip(WINDOWS, (0.0, 0.5, 1.0), strict=True)), executed, labels
    )


def site_env(schema: Path, copies: int) -> SiteVectorEnv:
    return SiteVectorEnv(scenario(str(schema)), WINDOWS, copies, copy=False)


def test_a_site_as_a_whole_runs_through_the_lessons(small_schema: Path) -> None:
    env = site_env(small_schema, 2)
    lessons, other = made_up(env.simulator.actions), site_env(small_schema, 3)
    parts = list(demonstrations(env, 2, lessons))
    assert [part.hours.tolist() for part in parts] == [[30, 24], [24]]
    observations, _ = other.reset(options={"starts": lessons.starts})
    for hour in range(24):
        for part, kept in zip(parts, (slice(0, 2), slice(2, 3)), strict=True):
            np.testing.assert_array_equal(part.observations[hour], observations[kept])
        observations, rewards, *_ = other.step(lessons.executed[:, hour])
        for part, kept in zip(parts, (slice(0, 2), slice(2, 3)), strict=True):
            np.testing.assert_array_equal(part.rewards[hour], rewards[kept])
            np.testing.assert_array_equal(part.labels[hour], lessons.labels[kept, hour])
    assert parts[0].taken.sum(axis=0).tolist() == [30, 24]
    # Its next episodes are those of its seed, as if it had never been used.
    first, _ = env.reset(seed=5)
    np.testing.assert_array_equal(first, site_env(small_schema, 2).reset(seed=5)[0])


def test_where_vehicles_follow_the_rule_only_other_actions_are_copied(small_schema: Path) -> None:
    inner, layout = site_env(small_schema, 3), observation_layout(scenario(str(small_schema)))
    assert layout.chargers
    view = SiteView(layout.size, len(layout.actions), layout.chargers, 1.0)
    env, lessons = ViewEnv(inner, view), made_up(inner.simulator.actions)
    (part,) = demonstrations(env, 3, lessons)
    np.testing.assert_array_equal(part.labels[:24, :, 0], lessons.labels[:, :24, env.view.others[0]].T)
    assert part.labels.shape[2] == len(env.view.others) == 1


@pytest.mark.parametrize("learned", [False, True])
def test_buildings_get_their_own_actions_rewards_and_labels(four_buildings: Path, learned: bool) -> None:
    site = district(scenario(str(four_buildings)))
    assert site
    inner = site_env(four_buildings, 3)
    env, lessons = BuildingViewEnv(inner, site, BuildingKinds.of(site, learned)), made_up(inner.simulator.actions)
    taken: list[np.ndarray] = []
    step: Any = inner.step
    inner.step = lambda actions: (taken.append(actions.copy()), step(actions))[1]  # type: ignore[method-assign, func-returns-value]
    (part,) = demonstrations(env, 3, lessons)
    agents = env.num_envs // 3
    assert part.runs.tolist() == np.repeat([0, 1, 2], agents).tolist()
    own = [0, 1, 2, 3, 4, 5, 6] if learned else [0, 3, 5]
    for hour in range(24):
        # What the buildings are told comes to what the teacher had carried out.
        np.testing.assert_allclose(taken[hour][:, own], lessons.executed[:, hour, own], atol=1e-5)
    assert part.rewards.shape == (30, 3 * agents)
    # Some buildings lack devices of others.
    assert np.isnan(part.labels).any() == learned
    known = np.isfinite(part.labels)
    assert (part.low[known] <= part.labels[known] + 1e-5).all()
    assert (part.labels[known] <= part.high[known] + 1e-5).all()


class Runner(SimpleNamespace):
    reward_factor = ArrayEnvRunner.reward_factor


def runner(reward_scale: float = 1.0, **parts: Any) -> Any:
    given = {"normalizer": None, "reward_normalizer": None, "num_envs": 4, **parts}
    h = {"gamma": 0.0, "reward_scale": reward_scale}
    return Runner(**given, h=h, preprocess=lambda: lambda observations: observations)


def shown(own: Any, *parts: Demonstration) -> Demonstrated:
    return Demonstrated(own, parts, torch.device("cpu"))


def test_rows_are_of_runs_alone_and_windows_are_held_out_whole() -> None:
    shape = (3, 20, 1)
    part = Demonstration(
        np.arange(4 * 20 * 2, dtype=np.float32).reshape(4, 20, 2), np.zeros(shape, np.float32),
        np.tile(np.array([1.0, -1.0, np.nan, 0.0], np.float32), 15).reshape(shape),
        np.full(shape, -1.0, np.float32), np.ones(shape, np.float32), np.zeros((3, 20)),
        np.full(20, 2), np.arange(20),
    )  # fmt: skip
    rows = shown(runner(), part)
    assert len(rows.labels) == 40
    np.testing.assert_array_equal(rows.observations, part.observations[:2].reshape(40, 2))
    np.testing.assert_array_equal(rows.ends[0], part.observations[2])
    assert rows.weights[:4, 0].tolist() == [1.0, 1.0, 0.0, 1.0]
    assert (rows.high[:4, 0].tolist(), rows.low[:4, 0].tolist()) == ([True, False, False, False], [False, True, False, False])
    held = rows.held_out.reshape(2, 20)
    assert held[0].tolist() == held[1].tolist()
    # Both runs of a window, and of ten windows two.
    assert np.flatnonzero(held[0]).tolist() == [4, 5, 14, 15]


def test_returns_end_with_a_value_at_each_runs_own_end() -> None:
    rewards = np.array([[1.0, 1.0], [2.0, 2.0], [4.0, 99.0]])
    found = returns(rewards, np.array([8.0, 16.0]), np.array([3, 2]), 0.5)
    assert found[:, 0].tolist() == [1 + 1 + 1 + 1, 2 + 2 + 2, 4 + 4]
    assert found[:2, 1].tolist() == [1 + 1 + 4, 2 + 8]


def part(steps: int, runs: int, seed: int) -> Demonstration:
    random, shape = np.random.default_rng(seed), (steps, runs, 1)
    none = np.zeros(shape, np.float32)
    seen = random.standard_normal((steps + 1, runs, 2)).astype(np.float32)
    return Demonstration(
        seen, none, none, none, none, random.standard_normal((steps, runs)), np.full(runs, steps - 1), np.arange(runs)
    )


def test_they_are_those_of_all_hours_of_runs() -> None:
    parts = [part(6, 4, 0), part(5, 2, 1)]
    own = runner(normalizer=ObservationNormalizer(2, 10.0), reward_normalizer=RewardNormalizer(4, 0.0))
    take_into_statistics(own, parts)
    seen = np.concatenate([each.observations[:-1][each.taken] for each in parts])
    np.testing.assert_allclose(own.normalizer.mean, seen.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(own.normalizer.variance, seen.var(axis=0), atol=1e-6)
    # Without discount a return is a reward.
    rewards = np.concatenate([each.rewards[each.taken] for each in parts])
    assert own.reward_normalizer.std == pytest.approx(rewards.std(), rel=0.2)
    assert own.reward_normalizer.get_state()["returns"].tolist() == [0.0] * 4
    # What returns are made of has the learner's scale.
    np.testing.assert_allclose(shown(own, *parts).returns(0.0), rewards / own.reward_normalizer.std, rtol=1e-5)


def test_without_statistics_rewards_have_their_own_scale() -> None:
    own = runner(reward_scale=3.0)
    one = part(6, 4, 0)
    take_into_statistics(own, [one])
    np.testing.assert_allclose(shown(own, one).returns(0.0), 3.0 * one.rewards[one.taken], rtol=1e-5)


def problem() -> tuple[torch.nn.Linear, torch.Tensor, torch.Tensor]:
    x = torch.randn(1000, 3, generator=torch.Generator().manual_seed(0))
    torch.manual_seed(1)
    return torch.nn.Linear(3, 1), x, x @ torch.tensor([0.5, -0.25, 0.1])


def test_a_regression_repeats_and_draws_no_other_random_numbers() -> None:
    weights, held_out = [], torch.arange(1000) >= 750
    for seed in (0, 0, 1):
        network, x, y = problem()

        def loss(index: torch.Tensor, network: Any = network, x: Any = x, y: Any = y) -> torch.Tensor:
            return (network(x[index])[:, 0] - y[index]).square()

        before, state = mean_loss(loss, held_out.nonzero()[:, 0]), torch.get_rng_state()
        fit(list(network.parameters()), loss, held_out, seed)
        assert torch.equal(torch.get_rng_state(), state)
        assert mean_loss(loss, held_out.nonzero()[:, 0]) < 0.1 * before
        weights.append(network.weight.detach().clone())
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_the_best_parameters_are_kept() -> None:
    network, _, _ = problem()
    held: list[torch.Tensor] = []

    def loss(index: torch.Tensor) -> torch.Tensor:
        # The held-out rows like the parameters of the first epoch, and worse ones afterwards.
        if len(index) == 7:
            held.append(network.weight.detach().clone())
            return torch.full((7,), float(len(held))) + 0.0 * network.weight.sum()
        return network(torch.ones(len(index), 3))[:, 0]

    fit(list(network.parameters()), loss, torch.arange(107) >= 100, 0)
    assert len(held) == 1 + PATIENCE
    assert torch.equal(network.weight, held[0])


def test_beyond_the_range_an_action_cannot_err() -> None:
    off, yes, no = torch.tensor([-0.5, 0.5]), torch.tensor([True, True]), torch.tensor([False, False])
    assert off_range(off, yes, no).tolist() == [0.0, 0.5]
    assert off_range(off, no, yes).tolist() == [-0.5, 0.0]
    assert off_range(off, no, no).tolist() == [-0.5, 0.5]
