"""A trained policy as one network, from CityLearn's observations to CityLearn's actions."""

import logging
from pathlib import Path

import numpy as np
import torch
from onnx_ir.passes.common import ClearMetadataAndDocStringPass
from torch import nn

from envs.observation import ObservationLayout
from tuning.algorithms.networks.building_view import BuildingView
from tuning.algorithms.networks.views import ChangedActions, SiteView

OBSERVATIONS, ACTIONS = "observations", "actions"  # names of the network's input and output


class SitePolicy(nn.Module):
    """The deterministic policy with everything between it and CityLearn.

    That is: scaling of the observation (`ObservationLayout.scale`), the view of a site with vehicles that charge by a rule
    (`SiteView`) or of single buildings (`BuildingView`), normalisation, the network, and the range of the actions. Precision is
    double where the environment's is.
    """

    def __init__(
        self,
        layout: ObservationLayout,
        view: SiteView | BuildingView | None,
        mode: nn.Module,
        low: np.ndarray,
        high: np.ndarray,
        changes: ChangedActions | None = None,
    ) -> None:
        """`view`, `mode` and `changes` are a trainer's, `low` and `high` the range of CityLearn's actions, shape (actions,)."""
        super().__init__()
        given = (*layout.linear, layout.period, low, np.asarray(high) - low)
        self.centre, self.inverse, self.period, self.low, self.span = (
            nn.Buffer(torch.tensor(np.asarray(values, dtype=np.float64))) for values in given
        )
        self.periodic = nn.Buffer(torch.tensor(layout.periodic))
        self.flat = nn.Buffer(torch.tensor([i not in layout.periodic for i in range(len(layout.names))]))
        self._view, self._mode, self._changes = view, mode, changes
        self.example = torch.zeros(2, len(self.centre), dtype=torch.float64)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Actions of CityLearn, shape (rows, actions), float64.

        Args:
            observations: of CityLearn, then the month's highest imports where the tariff has a demand charge; shape
                (rows, names), float64.
        """
        angle = 2.0 * torch.pi * observations.index_select(1, self.periodic) / self.period
        linear = ((observations - self.centre) * self.inverse).clamp(-1.0, 1.0)
        # A sine stands in its observation's place, the cosines at the end.
        sines = torch.zeros_like(linear).index_copy(1, self.periodic, angle.sin())
        scaled = torch.cat((torch.where(self.flat, linear, sines), angle.cos()), dim=1).float()
        actions = self._mode(scaled) if self._view is None else self._view(scaled, self._mode)
        if self._changes is not None:
            actions = self._changes(actions, scaled)
        return self.low + (actions.double().clamp(-1.0, 1.0) + 1.0) / 2.0 * self.span


def write_onnx(policy: nn.Module, path: Path) -> None:
    """Write a policy as ONNX, for any number of rows; `example` of it are some."""
    # They log each simplification, and missing operators of torchvision, which no policy uses.
    for name, level in (("onnx_ir", logging.WARNING), ("onnxscript", logging.WARNING), ("torch.onnx", logging.ERROR)):
        logging.getLogger(name).setLevel(level)
    program = torch.onnx.export(
        policy.eval(), (policy.example,), dynamo=True, verbose=False, input_names=[OBSERVATIONS], output_names=[ACTIONS],
        dynamic_shapes=({0: torch.export.Dim("rows")},),
    )  # fmt: skip
    assert program is not None
    # The exporter notes each operation's place in the source code, with the paths of this machine.
    ClearMetadataAndDocStringPass()(program.model)
    program.save(str(path))
