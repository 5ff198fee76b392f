"""Predicted memory of an algorithm beside the tensors that it holds."""

import gc
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import pytest
import torch

from envs.observation import ChargerGroups
from tests.tuning.algorithms.match import FEATURES, MatchVectorEnv, groups, stopped_at_the_end
from tuning.algorithms.memory import Workload
from tuning.algorithms.registry import algorithm
from tuning.algorithms.trainer import Setup
from tuning.memory.prediction import Prediction, Sizes, predict

CHARGERS, COPIES, STEPS = 24, 8, 4096


def assignment(algo: str, **given: Any) -> dict[str, Any]:
    learning = {"learning_starts": 100, "buffer_size": 5000, "train_freq": 64} if algo == "sac" else {"n_steps": 1024}
    return dict(algorithm(algo).space.complete({**learning, **given}, {"steps": float(STEPS)}))


def site(groups_: ChargerGroups | None) -> Sizes:
    chargers = len(groups_.actions) if groups_ else 0
    return Sizes(FEATURES + chargers, 1 + chargers, chargers, 1 if groups_ else 0, 1, 0, 0, 0, 0, 0)


def trainer(algo: str, h: dict[str, Any], parts: int = 1) -> AbstractContextManager[Any]:
    chargers = groups(CHARGERS) if h["learn_charging"] else None
    make_envs = partial(MatchVectorEnv, chargers=CHARGERS if chargers else 0)
    return stopped_at_the_end(algo, Setup(h, make_envs, COPIES, STEPS, 0, False, chargers, parts))


def predicted(algo: str, h: dict[str, Any], gpu: bool = True) -> Prediction:
    sizes = site(groups(CHARGERS) if h["learn_charging"] else None)
    return predict(algorithm(algo), h, Workload(COPIES, STEPS, 2, 4, gpu), sizes)


def term(prediction: Prediction, name: str) -> int:
    return next(term.nbytes for term in prediction.terms if term.name == name)


def nbytes(tensors: Iterable[torch.Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


@contextmanager
def new_alone() -> Iterator[None]:
    """Let `living` see what is made within alone: this process has millions of objects, and to look at all takes seconds."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def living() -> int:
    """How many tensors there are in this process."""
    gc.collect()
    return sum(issubclass(type(each), torch.Tensor) for each in gc.get_objects())


class Kept:
    """Counts what a backward pass keeps, each piece of memory once, beside what was there before."""

    def __init__(self, before: Iterable[Any]) -> None:
        self._before = {tensor.untyped_storage().data_ptr() for tensor in before if isinstance(tensor, torch.Tensor)}
        self._found: dict[int, tuple[int, torch.Tensor]] = {}

    def pack(self, tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in self._before:
            # Held on to, so that no other memory gets its address.
            self._found[storage.data_ptr()] = storage.nbytes(), tensor
        return tensor

    @property
    def nbytes(self) -> int:
        return sum(size for size, _ in self._found.values())


def keeping(trained: Any, algo: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the first gradient of the next update keeps, and the batch that it was of."""
    learner = trained.learner
    seen: dict[str, Any] = {}

    def watch(name: str, batch: int) -> None:
        inner = getattr(learner, name)

        def watched(*arguments: Any) -> Any:
            module = learner.network
            before = [*module.parameters(), *module.buffers(), *vars(arguments[batch]).values()]
            if algo == "sac":
                flat = [*learner._flat.values(), learner._targets]
                before += [tensor for each in flat for tensor in (each.vector, each.vector.grad)]
            kept = Kept(before)
            with torch.autograd.graph.saved_tensors_hooks(kept.pack, lambda tensor: tensor):
                result = inner(*arguments)
            if kept.nbytes > seen.get("kept", 0):
                seen.update(kept=kept.nbytes, batch=arguments[batch])
            return result

        monkeypatch.setattr(learner, name, watched)

    for name in ("_gradient",) if algo != "sac" else ("_critic_step", "_actor_step"):
        watch(name, 0)
    trained.algorithm.train()
    return seen
