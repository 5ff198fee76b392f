"""Recording of a function as a card does it, by the CPU: each operation is done again with the tensors that it had."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# Operations for which a card would have to be waited for, which it refuses while it records.
WAIT = {"_local_scalar_dense", "equal", "is_nonzero", "nonzero", "lift_fresh"}


def tensors(given: Any) -> Iterator[torch.Tensor]:
    return (leaf for leaf in tree_leaves(given) if isinstance(leaf, torch.Tensor))


class Recorder(TorchDispatchMode):
    """Notes operations, and what tensors held before the first operation that changed them."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[tuple[Any, Any, Any, Any]] = []
        self.before: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = {}
        self.made: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.removeprefix("aten::")
        assert name not in WAIT, f"{name} waits for the card"
        given = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage() for tensor in tensors((args, kwargs))}
        if func._schema.is_mutable:
            for place, storage in given.items():
                if place not in self.made | self.before.keys():
                    self.before[place] = storage, storage.clone()
        found = func(*args, **(kwargs or {}))
        # What an operation gives may be a view of what it got.
        self.made |= {tensor.untyped_storage().data_ptr() for tensor in tensors(found)} - given.keys()
        self.operations.append((func, args, kwargs or {}, found))
        return found

    def replay(self) -> None:
        """Do all again, into the same tensors; below autograd, as they were noted."""
        with torch._C._AutoDispatchBelowAutograd():
            for func, args, kwargs, found in self.operations:
                for own, new in zip(tensors(found), tensors(func(*args, **kwargs)), strict=True):
                    if own.data_ptr() != new.data_ptr():
                        own.copy_(new)


def record(function: Callable[[], Any], pool: None) -> tuple[Callable[[], object], Any, None]:
    """As `tuning.algorithms.precision.record`."""
    recorder = Recorder()
    with recorder:
        outputs = function()
    for storage, held in recorder.before.values():
        storage.copy_(held)
    return recorder.replay, outputs, None
