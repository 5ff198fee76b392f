"""The plan of model predictive control as actions: what a policy that sees it starts from."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from envs.district import District
from envs.seen import PLANNED_BATTERY, PLANNED_SOC

_ACTION, _SOC = "electrical_storage", "electrical_storage_soc"


class PlannedBatteries(nn.Module):
    """Actions that do what the plan does with each battery, and bring it to the plan's state of charge within the hour.

    Training begins with any charge, and what a policy changes moves its batteries away from the plan's. So the plan's energy of
    the hour alone would not do. Where a building does not observe its state of charge, it is all there is.

    The action of a battery is a part of its nominal power, as CityLearn has it.
    """

    matrix: torch.Tensor
    offset: torch.Tensor

    def __init__(self, site: District) -> None:
        """Find the plan among the observations of a site."""
        super().__init__()
        layout, buildings = site.layout, site.buildings
        centre, inverse = layout.linear
        matrix, offset = np.zeros((len(layout.actions), layout.size)), np.zeros(len(layout.actions))
        for n in range(site.size):
            seen, action = site.observations_of(n), site.actions_of(n).get(_ACTION)
            if action is None:
                continue
            terms = [(PLANNED_BATTERY, 1.0 / buildings.power_kw[n])]
            if _SOC in seen:
                terms += [(PLANNED_SOC, buildings.battery_hours[n]), (_SOC, -buildings.battery_hours[n])]
            for kind, factor in terms:
                i = seen[kind]
                matrix[action, i] = factor / inverse[i] if inverse[i] else 0.0
                offset[action] += factor * centre[i]
        self.register_buffer("matrix", torch.tensor(matrix, dtype=torch.float32), persistent=False)
        self.register_buffer("offset", torch.tensor(offset, dtype=torch.float32), persistent=False)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Actions within [-1, 1], 0 where they are not a battery's, shape (rows, actions).

        Args:
            observations: of the site, as its layout scales them, shape (rows, features).
        """
        return nn.functional.linear(observations, self.matrix, self.offset).clamp(-1.0, 1.0)
