"""State of this process's random numbers, which algorithms draw from beside their own generators."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch

from common.generators import check_twister


def random_state() -> dict[str, Any]:
    """States of Python's, NumPy's and torch's random numbers, those of GPUs included."""
    return {
        "python": python_state(random.getstate()),
        "numpy": np.random.get_state(),
        "torch": torch.get_rng_state().numpy(),
        "cuda": [state.numpy() for state in torch.cuda.get_rng_state_all()] if torch.cuda.is_available() else [],
    }


def python_state(state: tuple[Any, ...]) -> dict[str, Any]:
    """A state of `random.getstate`, with the words of its generator as an array."""
    version, words, spare = state
    return {"version": version, "words": np.array(words, np.uint32), "spare": spare}


def set_random_state(state: dict[str, Any]) -> None:
    """Go on from a state of `random_state`; on a machine with other GPUs, theirs stay as they are.

    Raises:
        ValueError: if it holds numbers that no generator has.
    """
    python, (_, words, position, *_) = state["python"], state["numpy"]
    check_twister(words, position)
    check_twister(python["words"][:-1], python["words"][-1])
    random.setstate((python["version"], tuple(python["words"].tolist()), python["spare"]))
    np.random.set_state(state["numpy"])
    torch.set_rng_state(torch.from_numpy(state["torch"].copy()))
    if torch.cuda.is_available() and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all([torch.from_numpy(own.copy()) for own in state["cuda"]])
