"""A state of the process's random numbers brings the same numbers again."""

import random

import numpy as np
import torch

from tuning.algorithms.random_state import python_state, random_state, set_random_state


def drawn() -> tuple[float, float, float]:
    return random.random(), float(np.random.random()), float(torch.rand(1))


def test_all_three_sources_go_on_from_a_state() -> None:
    state = random_state()
    first = drawn()
    assert drawn() != first
    set_random_state(state)
    assert drawn() == first


def test_the_words_of_pythons_generator_are_an_array() -> None:
    random.seed(7)
    random.gauss(0.0, 1.0)  # keeps a second number
    state = random.getstate()
    plain = python_state(state)
    assert plain["words"].dtype == np.uint32
    assert (plain["version"], tuple(plain["words"].tolist()), plain["spare"]) == state
