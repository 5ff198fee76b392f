"""The policy of an environment as files that run without this package: ONNX, an example controller and a model card."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from gymnasium import spaces
from torch import nn

from tuning.algorithms.networks.layers import buffer
from tuning.cli.console import busy, terminal
from tuning.experiment.folder import Experiment
from tuning.experiment.reading import with_checkpoints
from tuning.exporting.onnx_policy import write_onnx
from tuning.exporting.places import about_policy, beside, write_facts
from tuning.trial.policy import trained


class EnvironmentPolicy(nn.Module):
    """The deterministic policy, to actions as the author of the environment has them, in one row each."""

    def __init__(self, mode: nn.Module, features: int, actions: spaces.Space[Any]) -> None:
        """`mode` is a trainer's `mode_network`, which sees so many `features`."""
        super().__init__()
        self._mode, self._is_box = mode, isinstance(actions, spaces.Box)
        low, high, start = np.zeros(1), np.zeros(1), np.zeros(1, np.int64)
        if isinstance(actions, spaces.Box):
            low, high = actions.low.ravel(), actions.high.ravel()
        elif isinstance(actions, spaces.Discrete | spaces.MultiDiscrete):
            start = np.asarray(actions.start, np.int64).ravel()
        self._is_bounded = bool(np.isfinite([low, high]).all())
        self.low, self.high, self.start = buffer(low), buffer(high), nn.Buffer(torch.tensor(start))
        self.example = torch.zeros(2, features)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Actions, shape (rows, numbers), float32, or (rows, choices), int64. `observations` has shape (rows, features)."""
        actions: torch.Tensor = self._mode(observations)
        if not self._is_box:
            return (actions if actions.dim() == 2 else actions.unsqueeze(-1)) + self.start
        if self._is_bounded:
            actions = self.low + (actions.clamp(-1.0, 1.0) + 1.0) / 2.0 * (self.high - self.low)
        return actions.maximum(self.low).minimum(self.high)


def export_environment(
    experiment: Experiment, number: int, to: Path, judged: tuple[pd.DataFrame | None, str], keep: Literal["best", "last"]
) -> list[Path]:
    """Write the policy of a trial in an environment into a new folder; see `tuning.exporting.files.export_policy`."""
    task = experiment.settings.env_task
    task.check_trust()
    env = task.source.make()
    observations, actions = env.observation_space, env.action_space
    env.close()
    with (
        beside(to) as new,
        busy(terminal(stderr=True), f"exporting the policy of trial {number}"),
        trained(with_checkpoints(experiment, number), number, keep=keep) as policy,
    ):
        exported = EnvironmentPolicy(policy.network, spaces.flatdim(observations), actions)
        write_onnx(exported, new / "policy.onnx")
        about = about_policy(experiment, number, {"environment": task.title, "configuration": task.source.config}, policy.steps)
        interface = {"observations": str(observations), "actions": str(actions)}
        write_facts(new, experiment, number, policy.steps, about, interface, judged)
    return sorted(to.iterdir())
