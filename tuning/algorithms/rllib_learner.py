"""What algorithms on RLlib and their learners share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import torch
from ray.rllib.core.learner.torch.torch_learner import TorchLearner
from ray.rllib.utils.metrics import NUM_ENV_STEPS_SAMPLED_LIFETIME

from tuning.runtime.stopwatch import Stopwatch

if TYPE_CHECKING:
    from ray.rllib.core.learner.training_data import TrainingData

MODULE = "default_policy"  # RLlib's name for the one module that there is
M = TypeVar("M")


class NoLogFolder:
    """Mixin before an `Algorithm`. By itself RLlib makes an empty folder in `~/ray_results` for each that is built."""

    _logdir: Any

    def _setup_logdir(self) -> None:
        """Replaces a method of Ray Tune's `Trainable`."""
        self._logdir = None


class Sums:
    """Running sums of what gradient steps report, on their device.

    A list of small tensors would keep places of the heap between the arrays that each step frees. The allocator could not use
    these again, and the process grew by up to a gibibyte.
    """

    def __init__(self) -> None:
        self.steps = 0
        self._names: tuple[str, ...] = ()
        self._sums = torch.empty(0)

    def add(self, terms: Mapping[str, torch.Tensor]) -> None:
        """Add one step's, each of shape (); of all steps by the same names, in the same order."""
        row = torch.stack(tuple(terms.values())).double()
        if self.steps:
            self._sums += row
        else:
            self._names, self._sums = tuple(terms), row
        self.steps += 1

    def totals(self) -> dict[str, float]:
        """Sums by name; empty before the first step. This waits for the device."""
        return dict(zip(self._names, self._sums.tolist(), strict=True))

    def means(self) -> dict[str, float]:
        """Means over the steps by name; empty before the first step. This waits for the device."""
        return {name: total / self.steps for name, total in self.totals().items()}


class ArrayLearner(TorchLearner, Generic[M]):
    """Takes all gradient steps of an update itself, from whole arrays; RLlib makes minibatches and calls a loss for each."""

    module: Any

    def build(self) -> None:
        """See `Learner`."""
        super().build()
        self._stopwatch = Stopwatch()

    @property
    def network(self) -> M:
        """The one module."""
        network: M = self.module[MODULE]
        return network

    def compute_loss_for_module(self, **kwargs: Any) -> Any:
        """Not used."""
        raise NotImplementedError

    def update(self, *args: Any, training_data: TrainingData | None = None, timesteps: Any = None, **kwargs: Any) -> Any:
        """Learn from what is handed over, and return metrics. Raises `DivergedError` for numbers that are not finite."""
        self._check_is_built()
        assert training_data is not None
        self._weights_seq_no += 1
        with self._stopwatch.running():
            return self.learn_from(training_data, int(timesteps[NUM_ENV_STEPS_SAMPLED_LIFETIME]), **kwargs)

    @abstractmethod
    def learn_from(self, data: Any, steps: int, **kwargs: Any) -> Any:
        """Take the gradient steps of an update, after so many environment steps."""

    def watch(self, stopwatch: Stopwatch) -> None:
        """Add the seconds of updates to a stopwatch from now on."""
        self._stopwatch = stopwatch
