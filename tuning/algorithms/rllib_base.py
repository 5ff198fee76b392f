"""What algorithms on RLlib, their learners and their env runners share."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.core.learner.torch.torch_learner import TorchLearner
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.utils.metrics import ENV_RUNNER_RESULTS, NUM_ENV_STEPS_SAMPLED_LIFETIME

from tuning.algorithms.precision import Replayed
from tuning.runtime.stopwatch import Stopwatch

MODULE = "default_policy"  # RLlib's name for the one module that there is
# Part of a value's beginning, from the part of the budget that is done and the part that is left at the end. RLlib's schedules
# know pieces of lines only, and begin anew after a restore.
SHAPES: dict[str, Callable[[float, float], float]] = {
    "constant": lambda done, final: 1.0,
    "linear": lambda done, final: final + (1.0 - final) * (1.0 - done),
    "exponential": lambda done, final: final**done,
    "cosine": lambda done, final: final + (1.0 - final) * (0.5 * (1.0 + math.cos(math.pi * done))),
}
M = TypeVar("M")


class DivergedError(ArithmeticError):
    """Learning ended in numbers that are not finite; says which, when, and what to change."""


def check_finite(means: Mapping[str, float], steps: int) -> None:
    """Check the means of an update. Raises `DivergedError` if one is not finite."""
    broken = [name for name, value in means.items() if not math.isfinite(value) and name != "explained_variance"]
    if broken:
        raise DivergedError(
            f"{', '.join(broken)} not finite after {steps} steps: "
            "lower learning_rate or max_grad_norm, or set normalize_rewards"
        )


@dataclass(frozen=True)
class Recipe:
    """What algorithm, learner and env runner work by; RLlib's configuration hands it to them."""

    h: Mapping[str, Any]  # full assignment
    steps: int  # budget in transitions, where schedules end
    # Features that are not normalised: those of chargers, which have a common scale already. By their own means and deviations,
    # two chargers' equal states of charge would be different numbers.
    keep: tuple[int, ...] = ()
    agents: int = 1  # transitions of a step of a copy of the site
    parts: int = 1  # pieces that gradients are summed up from
    taught: bool = False

    def value(self, name: str, steps: int = 0, initial: float | None = None) -> float:
        """A value with a schedule after so many transitions; `initial` replaces the one that it begins with."""
        shape, final = SHAPES[self.h[f"{name}_schedule"]], self.h[f"{name}_final"]
        begins: float = self.h[name] if initial is None else initial
        return begins * shape(min(steps / self.steps, 1.0), final)


class ArrayConfig(AlgorithmConfig):
    """RLlib's general configuration, with what RLlib has no setting for."""

    recipe: Recipe
    module: RLModuleSpec

    def get_default_rl_module_spec(self) -> RLModuleSpec:
        """See `AlgorithmConfig`."""
        return self.module


class ArrayAlgorithm(Algorithm):
    """Hands arrays from its one env runner to its one learner."""

    config: Any
    metrics: Any
    learner_group: Any
    _logdir: Any

    def _setup_logdir(self) -> None:
        """Replaces a method of Ray Tune, which makes an empty folder in `~/ray_results` for each that is built."""
        self._logdir = None

    @property
    def learner(self) -> Any:
        """The one learner."""
        return self.learner_group._learner

    @property
    def runner(self) -> Any:
        """The one env runner."""
        return self.env_runner

    @property
    def sampled(self) -> int:
        """Transitions of all updates so far."""
        return int(self.metrics.peek((ENV_RUNNER_RESULTS, NUM_ENV_STEPS_SAMPLED_LIFETIME), default=0))

    def report(self) -> None:
        """Take over what the env runner measured."""
        self.metrics.aggregate([self.runner.get_metrics()], key=ENV_RUNNER_RESULTS)


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
        """Means over the steps by name; likewise."""
        return {name: total / self.steps for name, total in self.totals().items()}


class ArrayLearner(TorchLearner, Generic[M]):
    """Takes all gradient steps of an update itself, from whole arrays; RLlib makes minibatches and calls a loss for each.

    Numbers that are not finite are looked for once in an update, and are an error.
    """

    module: Any
    config: Any
    means: dict[str, float]  # of the last update, by columns of a report

    def build(self) -> None:
        """See `Learner`."""
        self.recipe: Recipe = self.config.recipe
        self.h, self.means = self.recipe.h, {}
        self._replayed: list[Replayed] = []
        self._live: dict[str, torch.Tensor] = {}
        super().build()
        self._stopwatch = Stopwatch()

    @property
    def network(self) -> M:
        """The one module."""
        return self.module[MODULE]

    def replayed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A part of a gradient step that waits for nothing, recorded where hyperparameters say so; see `Replayed`."""
        if not self.records:
            return function
        self._replayed.append(Replayed(function))
        return self._replayed[-1]

    def live(self, name: str, value: float) -> Any:
        """A number that updates change, as gradient steps read it: where they are replayed, from one place."""
        if not self.records:
            return value
        if name not in self._live:
            self._live[name] = torch.empty((), device=self.device)
        return self._live[name].fill_(value)

    def on_device(self, array: np.ndarray) -> torch.Tensor:
        """An array as a tensor on the device of the learner; on the CPU without a copy."""
        tensor, pinned = torch.from_numpy(array), self.h["pin_memory"]
        return (tensor.pin_memory() if pinned else tensor).to(self.device, non_blocking=pinned)

    def precision(self) -> AbstractContextManager[Any]:
        """Context in which networks may compute in bfloat16. It has float32's range, so no gradient has to be scaled."""
        return torch.autocast(self.device.type, dtype=torch.bfloat16) if self.h["bf16"] else nullcontext()

    def set_state(self, state: dict[str, Any]) -> None:
        """See `Learner`."""
        super().set_state(state)
        for each in self._replayed:
            each.forget()

    @property
    def records(self) -> bool:
        """Whether gradient steps are recorded and replayed."""
        return bool(self.h["cuda_graphs"]) and self.device.type == "cuda"

    def compute_loss_for_module(self, **kwargs: Any) -> Any:
        """Not used."""
        raise NotImplementedError

    def learn(self, data: Any, steps: int) -> None:
        """Learn from what was collected, after so many transitions. Raises `DivergedError` for numbers that are not finite."""
        with self._stopwatch.running():
            self.learn_from(data, steps)

    @abstractmethod
    def learn_from(self, data: Any, steps: int) -> None:
        """See `learn`."""

    def watch(self, stopwatch: Stopwatch) -> None:
        """Add the seconds of updates to a stopwatch from now on."""
        self._stopwatch = stopwatch


def pieces(count: int, size: int) -> list[slice]:
    """Slices of at most so many rows."""
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


@dataclass
class Tensors:
    """Transitions as tensors with the same first axis."""

    observations: torch.Tensor  # shape (T, features)
    actions: torch.Tensor  # shape (T, actions)

    def __len__(self) -> int:
        return len(self.observations)

    def at(self, rows: slice | torch.Tensor) -> Any:
        """Rows of a slice, not copied, or of indices, copied."""
        if isinstance(rows, slice):
            return self.map(lambda tensor: tensor[rows])
        return self.map(lambda tensor: tensor.index_select(0, rows))  # in a third of the time of `tensor[rows]`

    def map(self, function: Callable[[torch.Tensor], torch.Tensor]) -> Any:
        """What a function makes of each tensor."""
        return type(self)(*(function(tensor) for tensor in vars(self).values()))

    def copy_(self, other: Tensors) -> None:
        """Write the numbers of others over these."""
        for tensor, given in zip(vars(self).values(), vars(other).values(), strict=True):
            tensor.copy_(given)
