"""What stands between CityLearn and the network of an exported policy, beyond the bounds that a short run stays within."""

from pathlib import Path

import numpy as np
import torch
from torch import nn

from envs.observation import ObservationLayout
from tuning.exporting import onnx_policy
from tuning.exporting.onnx_policy import OBSERVATIONS, SitePolicy, write_onnx

LAYOUT = ObservationLayout(
    names=("hour", "load", "constant"), low=(1.0, 10.0, 5.0), high=(24.0, 30.0, 5.0), actions=("a", "b"), idle=(0.0, 0.0),
    hourly_soc=(0.0, 0.0),
)  # fmt: skip
RAW = np.array([[24.0, -99.0, 5.0], [6.0, 12.0, 7.0], [11.0, 99.0, 5.0]])
FEATURES = len(LAYOUT.scaled_names)


class Told(nn.Module):
    """Gives the same actions whatever it sees, and remembers that."""

    def __init__(self, actions: list[list[float]]) -> None:
        super().__init__()
        self.actions, self.seen = torch.tensor(actions), torch.zeros(0)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        self.seen = observations
        return self.actions


def test_observations_are_scaled_and_actions_cut_to_their_range_as_the_environment_does() -> None:
    mode = Told([[-3.0, 3.0], [0.0, -0.5], [1.5, 1.0]])
    actions = SitePolicy(LAYOUT, None, mode, np.array([-1.0, 0.0]), np.array([1.0, 0.5]))(torch.tensor(RAW))
    np.testing.assert_allclose(actions.numpy(), [[-1.0, 0.5], [0.0, 0.125], [1.0, 0.5]])
    np.testing.assert_allclose(mode.seen.numpy(), LAYOUT.scale(RAW), atol=1e-7)
    assert mode.seen.dtype == torch.float32


def test_the_file_holds_no_path_of_the_machine_that_wrote_it(tmp_path: Path) -> None:
    write_onnx(
        SitePolicy(LAYOUT, None, nn.Linear(FEATURES, 2), np.array([-1.0, 0.0]), np.array([1.0, 0.5])), tmp_path / "policy.onnx"
    )
    content = (tmp_path / "policy.onnx").read_bytes()
    assert OBSERVATIONS.encode() in content
    for folder in (Path(torch.__file__).parent, Path(onnx_policy.__file__).parent):
        assert str(folder).encode() not in content
