"""Environments by scenario, backend and purpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from envs.environments.backend import Backend
from envs.objective.episodes import TRAINING_HOURS
from envs.objective.reward import RewardName
from envs.objective.weights import DEFAULT, Weights
from envs.scenarios.scenario import Scenario, Split, Splits, Window, sample_weeks, scenario, training_starts
from envs.scenarios.splits import DEFAULT as NOT_STATED
from envs.seen import Seen

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

    from envs.environments.site_env import SiteEnv
    from envs.environments.vector_env import WindowsEnv


def training_env(
    scenario_name: str,
    backend: Backend,
    num_envs: int,
    reward: RewardName = "improvement",
    trusted: bool = False,
    splits: Splits = NOT_STATED,
    weights: Weights = DEFAULT,
    seen: Seen | None = None,
) -> VectorEnv[Any, Any, Any]:
    """Vector environment that draws two-week windows from a scenario's training split.

    Args:
        scenario_name: see `envs.scenarios.scenario.scenario`.
        backend: that steps it.
        num_envs: number of copies.
        reward: which reward.
        trusted: see `envs.scenarios.scenario.scenario`.
        splits: likewise.
        weights: of the terms of the reward `improvement`.
        seen: what is observed; None for what the weights need.
    """
    site = scenario(scenario_name, trusted, splits)
    windows = training_starts(site.windows("train"), TRAINING_HOURS)
    if backend == "batch":
        from envs.environments.vector_env import SiteVectorEnv

        return SiteVectorEnv(site, windows, num_envs, reward, copy=False, weights=weights, seen=seen)
    from envs.environments.site_envs import SiteEnvs

    return SiteEnvs(site, windows, num_envs, reward, weights, seen)


def evaluation_env(
    scenario_name: str,
    backend: Backend,
    split: Split,
    weeks: int,
    reward: RewardName = "improvement",
    trusted: bool = False,
    splits: Splits = NOT_STATED,
    weights: Weights = DEFAULT,
    own_layout: bool = False,
    seen: Seen | None = None,
) -> SiteEnv | WindowsEnv:
    """Environment that runs policies through a split: `weeks` weeks of it, spread evenly, or all of it for 0."""
    site = scenario(scenario_name, trusted, splits)
    return windows_env(site, backend, sample_weeks(site.windows(split), weeks), reward, weights, own_layout, seen)


def windows_env(
    site: Scenario,
    backend: Backend,
    windows: Sequence[Window],
    reward: RewardName = "improvement",
    weights: Weights = DEFAULT,
    own_layout: bool = False,
    seen: Seen | None = None,
) -> SiteEnv | WindowsEnv:
    """Environment that runs policies through windows, in their order.

    Policies for single buildings need `own_layout`, see `envs.environments.year_cache.observation_layout`. `seen` is what is
    observed; None for what the weights need.
    """
    if backend == "batch":
        from envs.environments.vector_env import WindowsEnv

        return WindowsEnv(site, windows, reward, weights, own_layout, seen)
    from envs.environments.site_env import SiteEnv

    return SiteEnv(site, windows, "sequence", reward, weights=weights, own_layout=own_layout, seen=seen)
