"""Views of a site, between its vector environment and a policy: without its chargers' actions, or as changes of a rule."""

from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space
from numba import njit
from torch import nn

from envs.district import District
from envs.observation import ChargerGroups
from envs.scenarios.schema_shape import USES
from envs.seen import PLANNED_BATTERY, PLANNED_DEVICE, PLANNED_SOC, PLANNED_TANK, PLANNED_TANK_SOC
from tuning.algorithms.networks.layers import SiteInputs, UncontrolledCharging, buffer, other_actions

# Changes up to this magnitude change nothing. A plan stands on kinks: where a home neither imports nor exports, a deviation of
# 0.02 costs an eighth of the score of five homes, one of 0.05 a third. Exploring by noise would unlearn the plan.
DEAD_ZONE = 0.3
# Part of a tank's gap to the plan that closes in an hour. At the start of a run it can be wide, and the whole power costs more
# than waiting. Nine buildings that follow a plan of the 2020 data, test split: +.0599 with a tenth, +.0592 with all of it.
TANK_GAP = 0.1
_BATTERY, _BATTERY_SOC = "electrical_storage", "electrical_storage_soc"


def applied(function: Callable[..., torch.Tensor], *arrays: np.ndarray) -> np.ndarray:
    """A function of single-precision tensors, of arrays."""
    with torch.inference_mode():
        given = (torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32)) for array in arrays)
        return function(*given).numpy()


def own_actions(env: Any, actions: np.ndarray) -> np.ndarray:
    """Actions of the site, shape (copies, actions), as an environment takes them in its present hour; NaN for no device."""
    find = getattr(env, "own_actions", None)
    return actions if find is None else find(actions)


class ViewEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """A vector environment of a site as a policy sees it: shows what a view observes, and takes actions that it completes."""

    _observations: np.ndarray  # of the site, which the next actions follow

    def __init__(self, env: VectorEnv[Any, Any, Any], view: Any, agents: int = 1) -> None:
        """A view has `spaces`, `observe`, `complete` and `own_actions`; it may act for several agents in each copy."""
        self.env, self.metadata, self.view, self.num_envs = env, env.metadata, view, env.num_envs * agents
        self.single_observation_space, self.single_action_space = view.spaces(env)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    @property
    def unwrapped(self) -> Any:
        """See `VectorEnv`."""
        return self.env.unwrapped

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        """See `VectorEnv`."""
        self._observations, infos = self.env.reset(seed=seed, options=options)
        return self.view.observe(self._observations), infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """See `VectorEnv`."""
        # The environment may write the next observations over these.
        complete = self.view.complete(np.asarray(actions), self._observations)
        self._observations, rewards, terminated, truncated, infos = self.env.step(complete)
        return self.view.observe(self._observations), rewards, terminated, truncated, infos

    def own_actions(self, actions: np.ndarray) -> np.ndarray:
        """The actions that `step` takes, of the site's, shape (copies, actions); NaN for a device that there is not."""
        return self.view.own_actions(own_actions(self.env, actions), self._observations)

    def get_state(self) -> dict[str, Any]:
        """State of the environment, with the observations that the next actions follow."""
        env: Any = self.env
        return {"env": env.get_state(), "observations": self._observations.copy()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from a state of `get_state`, instead of a `reset`."""
        env: Any = self.env
        env.set_state(state["env"])
        self._observations = state["observations"].copy()

    def close(self, **kwargs: Any) -> None:
        """Close the environment."""
        self.env.close(**kwargs)


class SiteView(nn.Module):
    """What a policy of the site's other actions sees, and the site's actions from its own."""

    def __init__(self, observations: int, actions: int, chargers: ChargerGroups, initial_charging: float) -> None:
        """Look at a site. Raises `ValueError` if all actions are chargers'."""
        super().__init__()
        self.initial_charging, self.learns_charging = initial_charging, False
        self.others = other_actions(actions, chargers)
        if not self.others:
            raise ValueError("every action is a charger's, so nothing is left to learn: set learn_charging=true")
        self.index = nn.Buffer(torch.tensor(self.others))
        self.inputs = SiteInputs(observations, chargers)
        self.charging = UncontrolledCharging(actions, initial_charging, chargers)
        self._features = self.inputs.order[: self.inputs.others].numpy()
        self._kinds, self._places = np.array(chargers.observations).T.copy(), np.array(chargers.actions)

    def forward(self, observations: torch.Tensor, mode: nn.Module) -> torch.Tensor:
        """All actions of the site, shape (rows, actions), by the mode of a policy of the others."""
        seen, each = self.inputs(observations)
        actions: torch.Tensor = self.charging(each)
        return actions.index_copy(1, self.index, mode(seen))

    def spaces(self, env: Any) -> tuple[gym.spaces.Box, gym.spaces.Box]:
        """See `ViewEnv`."""
        low, high = (bound[self.others] for bound in (env.single_action_space.low, env.single_action_space.high))
        return gym.spaces.Box(-np.inf, np.inf, (self.inputs.size,), np.float32), gym.spaces.Box(low, high)

    def observe(self, observations: np.ndarray) -> np.ndarray:
        """What is seen of observations, shape (copies, features): shape (copies, size)."""
        seen = np.empty((len(observations), self.inputs.size), np.float32)
        see(observations, self._features, self._kinds, seen)
        return seen

    def complete(self, actions: np.ndarray, observations: np.ndarray) -> np.ndarray:
        """All actions of the site, shape (copies, actions), of the others, shape (copies, others)."""
        site_actions = np.empty((len(actions), len(self.others) + len(self._places)), np.float32)
        site_actions[:, self.others] = actions
        rule, limit = self.charging, self.charging.limit
        charge(
            observations, self._kinds, rule.weights.numpy(), rule.bias.numpy(), rule.idle.numpy(), rule.initial_charging, limit,
            self._places, site_actions,
        )  # fmt: skip
        return site_actions

    def own_actions(self, actions: np.ndarray, observations: np.ndarray) -> np.ndarray:
        """The others of the site's actions."""
        return actions[:, self.others]


@njit(cache=True)
def charge(
    observations: np.ndarray,
    kinds: np.ndarray,
    weights: np.ndarray,
    bias: np.ndarray,
    idle: np.ndarray,
    full: float,
    limit: float,
    places: np.ndarray,
    actions: np.ndarray,
) -> None:
    """`UncontrolledCharging` in a pass over the chargers, in a quarter of its time; writes into the `places` of actions.

    `kinds` has the features of chargers, shape (F, S).
    """
    for row in range(len(observations)):
        for s in range(len(places)):
            power = bias[s]
            for f in range(len(kinds)):
                power += observations[row, kinds[f, s]] * weights[f, s]
            power = min(max(power, np.float32(0.0)), np.float32(1.0))
            action = idle[s] + power * (np.float32(full) - idle[s])
            actions[row, places[s]] = min(max(action, -np.float32(limit)), np.float32(limit))


@njit(cache=True)
def see(observations: np.ndarray, features: np.ndarray, kinds: np.ndarray, seen: np.ndarray) -> None:
    """The first output of `SiteInputs` in one pass; writes into `seen`. `features` are the site's own."""
    for row in range(len(observations)):
        for i in range(len(features)):
            seen[row, i] = observations[row, features[i]]
        for f in range(len(kinds)):
            total = 0.0
            for feature in kinds[f]:
                total += observations[row, feature]
            seen[row, len(features) + f] = total / len(kinds[f])


class _Storage(NamedTuple):
    """How a storage's observations become its action: `planned * factor + (planned_soc - soc) * hours`."""

    planned: str
    planned_soc: str
    soc: str
    factor: float
    hours: float


def _storages(site: District, n: int) -> dict[str, _Storage]:
    """Storages that a building can have, by the names of their actions."""
    buildings = site.buildings
    battery = _Storage(PLANNED_BATTERY, PLANNED_SOC, _BATTERY_SOC, 1.0 / buildings.power_kw[n], buildings.battery_hours[n])
    tanks = {}
    for use, hours in zip(USES, buildings.tank_hours[n], strict=True):
        planned, soc = PLANNED_TANK.format(use), PLANNED_TANK_SOC.format(use)
        tanks[f"{use}_storage"] = _Storage(planned, soc, f"{use}_storage_soc", hours, TANK_GAP * hours)
    return {_BATTERY: battery, **tanks}


class ChangedActions(nn.Module):
    """From changes of what a rule, linear in the observations, has devices do, to a site's actions; the environment cuts them.

    Changes within their action's `zone` do nothing; of others the excess counts. Actions without a rule pass unchanged.
    """

    def __init__(self, matrix: np.ndarray, offset: np.ndarray, zone: np.ndarray) -> None:
        """`matrix` has shape (actions, observations); of actions without a rule it is 0. Others have shape (actions,)."""
        super().__init__()
        self.matrix, self.offset, self.zone = (buffer(values) for values in (matrix, offset, zone))

    def rule(self, observations: torch.Tensor) -> torch.Tensor:
        """Actions without a change within [-1, 1], 0 where there is no rule, shape (rows, actions)."""
        return nn.functional.linear(observations, self.matrix, self.offset).clamp(-1.0, 1.0)

    def forward(self, changes: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
        """Actions of the site, shape (rows, actions), of changes."""
        return self.rule(observations) + torch.sign(changes) * (changes.abs() - self.zone).clamp(min=0.0)

    def inverse(self, actions: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
        """The least changes that become some actions of the site, see `forward`."""
        more = actions - self.rule(observations)
        return more + torch.sign(more) * self.zone

    def spaces(self, env: Any) -> tuple[Any, Any]:
        """See `ViewEnv`: those of the site."""
        return env.single_observation_space, env.single_action_space

    def observe(self, observations: np.ndarray) -> np.ndarray:
        """See `ViewEnv`: all."""
        return observations

    def complete(self, changes: np.ndarray, observations: np.ndarray) -> np.ndarray:
        """`forward` for arrays."""
        return applied(self, changes, observations)

    def own_actions(self, actions: np.ndarray, observations: np.ndarray) -> np.ndarray:
        """`inverse` for arrays."""
        return applied(self.inverse, actions, observations)


class ServedDevices(ChangedActions):
    """From changes of what thermal devices do without control: so a policy begins with people comfortable.

    Half a device's power in all hours, as policies begin else, leaves people in the cold, and it takes long to unlearn.
    """

    def __init__(self, site: District) -> None:
        served = np.array(site.layout.served)
        super().__init__(served[:, :-1], served[:, -1], np.zeros(len(served)))


class PlannedActions(ChangedActions):
    """From changes of a plan to actions of batteries, tanks and thermal devices; other actions pass unchanged.

    Without a change a battery comes to the plan's state of charge within the hour, and a tank by `TANK_GAP` of what lacks:
    training begins with any charge, so the plan's energy of the hour alone would not do. Where no state of charge is observed,
    it is all there is. A change counts from `DEAD_ZONE` on. The action of a battery is a part of its nominal power,
    that of a tank a part of its greatest action, which fills it in `Buildings.tank_hours`. Devices do as planned.
    """

    def __init__(self, site: District) -> None:
        layout = site.layout
        centre, inverse = layout.linear
        matrix, offset = np.zeros((len(layout.actions), layout.size)), np.zeros(len(layout.actions))
        for n in range(site.size):
            seen, actions = site.observations_of(n), site.actions_of(n)
            storages = _storages(site, n)
            for name in actions.keys() - storages.keys():
                if (planned := PLANNED_DEVICE.format(name)) in seen:
                    i = seen[planned]
                    matrix[actions[name], i] = 1.0 / inverse[i] if inverse[i] else 0.0
                    offset[actions[name]] = centre[i]
            for name, storage in storages.items():
                # A tank that holds nothing has an action, and no plan.
                if name not in actions or storage.planned not in seen:
                    continue
                terms = [(storage.planned, storage.factor)]
                if storage.soc in seen:
                    terms += [(storage.planned_soc, storage.hours), (storage.soc, -storage.hours)]
                for kind, factor in terms:
                    i = seen[kind]
                    matrix[actions[name], i] = factor / inverse[i] if inverse[i] else 0.0
                    offset[actions[name]] += factor * centre[i]
        super().__init__(matrix, offset, np.where(matrix.any(axis=1), DEAD_ZONE, 0.0))

    @property
    def followed(self) -> np.ndarray:
        """Whether each action is one that has a plan, shape (actions,)."""
        return self.zone.numpy() > 0.0
