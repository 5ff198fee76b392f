"""A site of several buildings as many of one building: one policy sees and acts for each of them."""

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import VectorEnv
from torch import nn

from envs.district import BUILDING_REWARDS, COMMON, District, is_energy
from tuning.algorithms.networks.building_kinds import (
    CHARGER,
    HAS,
    HOURS,
    BuildingKinds,
    Parts,
    UnfitError,
    common_features,
    is_cyclic,
    unit,
    why_unfit,
)
from tuning.algorithms.networks.layers import UncontrolledCharging, buffer
from tuning.algorithms.networks.views import ViewEnv, applied

# A change of the uncontrolled site's action within [-1, 1], times this, reaches every action from every other.
_CHANGE = 2.0


class BuildingInputs(nn.Module):
    """From what is observed of a site to what a policy sees of each of its A buildings that act; linear.

    For each building: its own features, what never changes of it, sums of energies and means of the rest over all buildings,
    and what they have in common.
    """

    def __init__(self, kinds: BuildingKinds, site: District) -> None:
        super().__init__()
        parts, count, features = Parts.of(site, kinds.learn_charging), len(kinds.own), site.layout.size
        factors = np.zeros((site.size, count, features))
        constant, weight = np.zeros((2, site.size, count))
        power, common = np.array(site.buildings.power_kw), common_features(site)
        for n, observed in enumerate(parts.observed):
            for j, (kind, bounds) in enumerate(zip(kinds.own, kinds.own_bounds, strict=True)):
                places = observed.get(kind, ())
                for i in places:
                    factor, shift = _rescaling(site, i, unit(site, kind, n), bounds)
                    factors[n, j, i] += factor / len(places)
                    constant[n, j] += shift / len(places)
                if is_energy(kind):
                    weight[n, j] = power[n] / power.sum()
                    if not places:
                        # A building without PV generates nothing.
                        middle, steep = _scaling(bounds)
                        constant[n, j] = -middle * steep
                else:
                    weight[n, j] = float(bool(places))
        weight /= np.where(weight.sum(axis=0), weight.sum(axis=0), 1.0)
        shared, shifts = np.zeros((len(kinds.common), features)), np.zeros(len(kinds.common))
        for j, (kind, bounds) in enumerate(zip(kinds.common, kinds.common_bounds, strict=True)):
            i = common[kind]
            shared[j, i], shifts[j] = _rescaling(site, i, unit(site, kind, COMMON), bounds)
        district = np.einsum("nj,njf->jf", weight, factors), (weight * constant).sum(axis=0)
        self.matrix = buffer(np.concatenate([factors[parts.acting].reshape(-1, features), district[0], shared]))
        self.offset = buffer(np.concatenate([constant[parts.acting].ravel(), district[1], shifts]))
        fixed = [[_fixed(kind, site, parts, n) for kind in kinds.fixed] for n in parts.acting]
        self.fixed = buffer(np.reshape(fixed, (len(parts.acting), -1)))
        self.agents, self._own = len(parts.acting), (len(parts.acting), count)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """What is seen, shape (rows * A, size), of the site as its layout scales it, shape (rows, features)."""
        features = nn.functional.linear(observations, self.matrix, self.offset)
        agents, kinds = self._own
        buildings = features[:, : agents * kinds].unflatten(1, (agents, kinds))
        of_all = features[:, agents * kinds :].unsqueeze(1).expand(-1, agents, -1)
        fixed = self.fixed.unsqueeze(0).expand(features.shape[0], -1, -1)
        return torch.cat((buildings, fixed, of_all), dim=2).flatten(0, 1)


class BuildingActions(nn.Module):
    """From the actions of a site's buildings to the site's; what is given for a device that a building lacks is dropped.

    Learned chargers' actions are changes of the uncontrolled site's, so it begins with vehicles that charge.
    """

    def __init__(self, kinds: BuildingKinds, site: District) -> None:
        super().__init__()
        parts, groups, count = Parts.of(site, kinds.learn_charging), site.layout.any_chargers, len(site.layout.actions)
        self.agents, self._count = len(parts.acting), len(kinds.actions)
        # An action that follows a rule takes nothing from the policy: its scale stays 0.
        order, scale = [0] * count, [0.0] * count
        for a, n in enumerate(parts.acting):
            for kind, i in parts.actions[n].items():
                order[i] = a * len(kinds.actions) + kinds.actions.index(kind)
                scale[i] = _CHANGE if groups and kind.startswith(CHARGER) else 1.0
        self.order, self.scale = nn.Buffer(torch.tensor(order), persistent=False), buffer(scale)
        self.charging = UncontrolledCharging(count, kinds.initial_charging, groups) if groups else None
        if groups:
            each = torch.tensor(groups.observations).T
            self._kinds = tuple(each.shape)
            self.features = nn.Buffer(each.flatten(), persistent=False)

    def forward(self, actions: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
        """Actions of the site, shape (rows, actions), of those of its buildings, (rows * A, kinds); not cut yet."""
        given = actions.unflatten(0, (-1, self.agents)).flatten(1).index_select(1, self.order) * self.scale
        if self.charging is None:
            return given
        return given + self._rule(observations)

    def inverse(self, actions: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
        """What the buildings have to give for actions of the site, shape (rows * A, kinds); NaN for a device that one lacks."""
        given = actions if self.charging is None else actions - self._rule(observations)
        building_actions = torch.full((len(actions), self.agents * self._count), torch.nan)
        taken = self.scale != 0.0
        building_actions[:, self.order[taken]] = given[:, taken] / self.scale[taken]
        return building_actions.unflatten(1, (self.agents, self._count)).flatten(0, 1)

    def _rule(self, observations: torch.Tensor) -> torch.Tensor:
        assert self.charging is not None
        return self.charging(observations.index_select(1, self.features).unflatten(1, self._kinds))


class BuildingView(nn.Module):
    """What a policy sees and moves of each building."""

    learns_charging: bool | None  # whether it learns chargers' actions; None where the site has fewer than two
    initial_charging: float | None  # see `UncontrolledCharging`; likewise

    def __init__(self, kinds: BuildingKinds, site: District) -> None:
        """Look at a site. Raises `UnfitError` if the policy does not fit the site."""
        if reason := why_unfit(kinds, site):
            raise UnfitError(reason)
        super().__init__()
        self.kinds, self.inputs, self.actions = kinds, BuildingInputs(kinds, site), BuildingActions(kinds, site)
        charges = site.layout.chargers is not None
        self.learns_charging = kinds.learn_charging if charges else None
        self.initial_charging = kinds.initial_charging if charges else None

    def forward(self, observations: torch.Tensor, mode: nn.Module) -> torch.Tensor:
        """All actions of the site, shape (rows, actions), by the mode of a policy of the buildings."""
        return self.actions(mode(self.inputs(observations)), observations)

    @property
    def agents(self) -> int:
        """Buildings that act."""
        return self.inputs.agents

    def spaces(self, env: Any) -> tuple[gym.spaces.Box, gym.spaces.Box]:
        """See `ViewEnv`."""
        seen = gym.spaces.Box(-np.inf, np.inf, (self.kinds.size,), np.float32)
        return seen, gym.spaces.Box(-1.0, 1.0, (len(self.kinds.actions),), np.float32)

    def observe(self, observations: np.ndarray) -> np.ndarray:
        """What is seen of observations, shape (copies, features): shape (copies * agents, size)."""
        return applied(self.inputs, observations)

    def complete(self, actions: np.ndarray, observations: np.ndarray) -> np.ndarray:
        """All actions of the site, shape (copies, actions), of those of the buildings, (copies * agents, kinds)."""
        return applied(self.actions, actions, observations)

    def own_actions(self, actions: np.ndarray, observations: np.ndarray) -> np.ndarray:
        """What `complete` makes actions of the site of; see `BuildingActions.inverse`."""
        return applied(self.actions.inverse, actions, observations)


class BuildingViewEnv(ViewEnv):
    """Copies of a site with A acting buildings as A times as many copies of a building, which earn rewards of their own."""

    def __init__(self, env: VectorEnv[Any, Any, Any], site: District, kinds: BuildingKinds) -> None:
        view = BuildingView(kinds, site)
        super().__init__(env, view, view.agents)
        self._acting = np.array(Parts.of(site, kinds.learn_charging).acting)
        self.unwrapped.split_rewards()

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """See `VectorEnv`."""
        seen, _, terminated, truncated, infos = super().step(actions)
        # In a step in which all copies begin another episode, CityLearn's environments report no rewards.
        earned = infos.get(BUILDING_REWARDS)
        rewards = np.zeros(self.num_envs) if earned is None else np.asarray(earned, np.float64)[:, self._acting].reshape(-1)
        over, cut = (np.repeat(each, self.view.agents) for each in (terminated, truncated))
        return seen, rewards, over, cut, {}


def _rescaling(site: District, place: int, unit: float, bounds: tuple[float, float]) -> tuple[float, float]:
    """Factor and shift from a feature as the site's layout scales it to one that is scaled by a kind's bounds."""
    if is_cyclic(site, place):
        return 1.0, 0.0
    (middle, steep), (centre, inverse) = _scaling(bounds), (values[place] for values in site.layout.linear)
    return float(steep / inverse / unit) if inverse else 0.0, float((centre / unit - middle) * steep)


def _scaling(bounds: tuple[float, float]) -> tuple[float, float]:
    """Middle of bounds, and one over half their distance; a constant becomes 0."""
    low, high = bounds
    return (low + high) / 2.0, 2.0 / (high - low) if high > low else 0.0


def _fixed(kind: str, site: District, parts: Parts, n: int) -> float:
    if kind == HOURS:
        return site.buildings.battery_hours[n] / 10.0
    name = kind.removeprefix(HAS)
    return float(name in parts.observed[n] or name in parts.actions[n])
