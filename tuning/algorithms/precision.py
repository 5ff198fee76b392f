"""What depends on the device and not on the site: compiled and recorded functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import torch

from search_spaces import Assignment
from tuning.algorithms.memory import ROOM

F = TypeVar("F")


def check_device(hyperparameters: Assignment, gpu: bool) -> None:
    """Raises `ValueError` with the hyperparameter that needs a GPU where there is none."""
    if hyperparameters["pin_memory"] and not gpu:
        raise ValueError("pin_memory=true: it needs a GPU, and this trial learns on the CPU")


def compiled(function: F, h: Assignment) -> F:
    """A function of tensors, compiled where hyperparameters say so."""
    return torch.compile(function) if h["torch_compile"] else function  # type: ignore[call-overload]


def record(function: Callable[[], Any], pool: Any) -> tuple[Callable[[], object], Any, Any]:
    """Record what a function starts on the card, without doing it.

    Returns a function that does it, the outputs that this writes to, and the memory used; another recording may share it if the
    outputs of one are not needed when the other is replayed.
    """
    graph = torch.cuda.CUDAGraph()
    # By itself the mode forbids all threads what only the one that records must not do.
    with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
        outputs = function()
    return graph.replay, outputs, graph.pool()


class Replayed:
    """A function of tensors that changes others in place, recorded as a CUDA graph and replayed.

    The kernels of small networks take less than a tenth of the time that it takes to start them one by one. For each number
    of rows the first call runs as it is: libraries take workspaces, optimizers make their state. The second is recorded.
    What it returns is written over by the next call.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._seen: set[tuple[int, ...]] = set()
        self._recorded: dict[tuple[int, ...], tuple[list[Any], Callable[[], object], Any]] = {}
        self._room: list[Any] = []  # of what it is called with; calls with fewer rows take its first ones
        self._pool: Any = None

    def __call__(self, *given: Any) -> Any:
        """Call it with tensors, or with transitions; the same numbers of rows have the same shapes."""
        rows = tuple(len(each) for each in given)
        if rows not in self._seen:
            self._seen.add(rows)
            return self._function(*given)
        inputs = self._recorded[rows][0] if rows in self._recorded else self._places(given)
        for place, each in zip(inputs, given, strict=True):
            place.copy_(each)
        if rows not in self._recorded:
            replay, outputs, self._pool = record(partial(self._function, *inputs), self._pool)
            self._recorded[rows] = inputs, replay, outputs
        _, replay, outputs = self._recorded[rows]
        replay()
        return outputs

    def _places(self, given: Sequence[Any]) -> list[Any]:
        """Places for what is given: the first rows of a room that is made once, and anew where it has too few."""
        if not self._room or any(len(room) < len(each) for room, each in zip(self._room, given, strict=True)):
            self._room = [_map(each, _with_room) for each in given]
        return [_map(room, partial(_first, len(each))) for room, each in zip(self._room, given, strict=True)]

    def forget(self) -> None:
        """Record anew, as other tensors have taken the place of those that it changes."""
        self._seen.clear()
        self._recorded.clear()
        self._room, self._pool = [], None


def _map(tensors: Any, function: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    return function(tensors) if isinstance(tensors, torch.Tensor) else tensors.map(function)


def _with_room(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.new_empty((math.ceil(ROOM * len(tensor)), *tensor.shape[1:]))


def _first(rows: int, tensor: torch.Tensor) -> torch.Tensor:
    return tensor[:rows]
