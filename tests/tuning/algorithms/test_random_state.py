"""A state of the process's random numbers brings the same numbers again."""

import pickle
import random

import numpy as np
import torch

from tuning.algorithms.random_state import random_state, set_random_state


def drawn() -> tuple[float, float, float]:
    return random.random(), float(np.random.random()), float(torch.rand(1))


def test_all_three_sources_go_on_from_a_pickled_state() -> None:
    state = pickle.loads(pickle.dumps(random_state()))
    first = drawn()
    assert drawn() != first
    set_random_state(state)
    assert drawn() == first
