"""The plan of model predictive control as actions: what a policy that sees it starts from and changes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium.vector import VectorEnv, VectorWrapper
from torch import nn

from envs.batch_backend.tables import USES
from envs.district import District
from envs.seen import PLANNED_BATTERY, PLANNED_SOC, PLANNED_TANK, PLANNED_TANK_SOC
from tuning.algorithms.networks.site_view import ViewState

# Changes up to this magnitude change nothing. A plan stands on kinks: where a home neither imports nor exports, a deviation of
# 0.02 costs an eighth of the score of five homes, one of 0.05 a third. Exploring by noise would unlearn the plan.
DEAD_ZONE = 0.3
# Part of a tank's gap to the plan that closes in an hour. At the start of a run it can be wide, and the whole power costs more
# than waiting. Nine buildings that follow a plan of the 2020 data, test split: +.0599 with a tenth, +.0592 with all of it.
TANK_GAP = 0.1
_BATTERY, _BATTERY_SOC = "electrical_storage", "electrical_storage_soc"


class _Storage(NamedTuple):
    """How a storage's observations become its action: `planned * factor + (planned_soc - soc) * hours`."""

    planned: str
    planned_soc: str
    soc: str
    factor: float
    hours: float


def _storages(site: District, building: int) -> dict[str, _Storage]:
    """Storages that a building can have, by the names of their actions."""
    own = site.buildings
    battery = _Storage(PLANNED_BATTERY, PLANNED_SOC, _BATTERY_SOC, 1.0 / own.power_kw[building], own.battery_hours[building])
    tanks = {}
    for use, hours in zip(USES, own.tank_hours[building], strict=True):
        planned, soc = PLANNED_TANK.format(use), PLANNED_TANK_SOC.format(use)
        tanks[f"{use}_storage"] = _Storage(planned, soc, f"{use}_storage_soc", hours, TANK_GAP * hours)
    return {_BATTERY: battery, **tanks}


class PlannedStorages(nn.Module):
    """From changes of a plan to actions of batteries and tanks; other actions pass unchanged.

    Without a change a battery comes to the plan's state of charge within the hour, and a tank by `TANK_GAP` of what lacks:
    training begins with any charge, so the plan's energy of the hour alone would not do. It has to where no state of charge is
    observed. A change counts from `DEAD_ZONE` on, as what it is more. The action of a battery is a part of its nominal power,
    that of a tank a part of its greatest action, which fills it in `Buildings.tank_hours`.
    """

    matrix: torch.Tensor
    offset: torch.Tensor
    zone: torch.Tensor

    def __init__(self, site: District) -> None:
        super().__init__()
        layout = site.layout
        centre, inverse = layout.linear
        matrix, offset = np.zeros((len(layout.actions), layout.size)), np.zeros(len(layout.actions))
        for n in range(site.size):
            seen, actions = site.observations_of(n), site.actions_of(n)
            for name, storage in _storages(site, n).items():
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
        self.register_buffer("matrix", torch.tensor(matrix, dtype=torch.float32), persistent=False)
        self.register_buffer("offset", torch.tensor(offset, dtype=torch.float32), persistent=False)
        self.register_buffer("zone", DEAD_ZONE * torch.tensor(matrix.any(axis=1), dtype=torch.float32), persistent=False)

    def plan(self, observations: torch.Tensor) -> torch.Tensor:
        """The plan's actions within [-1, 1], 0 where they are not a storage's, shape (rows, actions)."""
        return nn.functional.linear(observations, self.matrix, self.offset).clamp(-1.0, 1.0)

    def forward(self, changes: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
        """Actions of the site, shape (rows, actions): for storages of changes of the plan; the environment cuts them."""
        return self.plan(observations) + torch.sign(changes) * (changes.abs() - self.zone).clamp(min=0.0)

    def inverse(self, actions: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
        """The least changes that become some actions of the site, see `forward`."""
        more = actions - self.plan(observations)
        return more + torch.sign(more) * self.zone

    def complete(self, changes: np.ndarray, observations: np.ndarray) -> np.ndarray:
        """`forward` for arrays."""
        with torch.inference_mode():
            given = torch.from_numpy(np.ascontiguousarray(changes, dtype=np.float32))
            found: np.ndarray = self(given, torch.from_numpy(observations)).numpy()
        return found


class PlannedStoragesEnv(ViewState, VectorWrapper):
    """A vector environment of a site that takes changes of the plan it shows."""

    def __init__(self, env: VectorEnv[Any, Any, Any], site: District) -> None:
        super().__init__(env)
        self.planned = PlannedStorages(site)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """See `VectorEnv`."""
        self._observations, infos = self.env.reset(seed=seed, options=options)
        return self._observations, infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """See `VectorEnv`."""
        # The environment may write the next observations over these.
        complete = self.planned.complete(np.asarray(actions), self._observations)
        self._observations, rewards, terminated, truncated, infos = self.env.step(complete)
        return self._observations, rewards, terminated, truncated, infos

    def own_actions(self, actions: np.ndarray) -> np.ndarray:
        """The changes that `step` takes, of the site's actions, shape (copies, actions)."""
        with torch.inference_mode():
            given = torch.from_numpy(np.ascontiguousarray(actions, dtype=np.float32))
            found: np.ndarray = self.planned.inverse(given, torch.from_numpy(self._observations)).numpy()
        return found
