"""Programmes are what their blocks say."""

import numpy as np
import pytest
from scipy.optimize import linprog

from envs.planning.linear_programme import LinearProgramme


def test_a_programme_of_two_blocks_has_its_optimum() -> None:
    """Maximise x + 2y with x + y = 4 and y <= x: both are 2."""
    programme = LinearProgramme()
    x, y = programme.variables(1, high=3.0), programme.variables(1)
    programme.rows(True, np.array([4.0]), (np.array([0]), x, 1.0), (np.array([0]), y, 1.0))
    programme.rows(False, np.array([0.0]), (np.array([0]), y, 1.0), (np.array([0]), x, -1.0))
    programme.cost[[*x, *y]] = -1.0, -2.0
    found = linprog(**programme.arguments())
    assert found.x == pytest.approx([2.0, 2.0])


def test_rows_of_later_blocks_follow_those_before() -> None:
    programme = LinearProgramme()
    x = programme.variables(2, 3)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    for block in range(2):
        programme.rows(False, np.array([1.0, 2.0]), (np.arange(2)[:, np.newaxis], x, float(block + 1)))
    arguments = programme.arguments()
    assert arguments["b_ub"].tolist() == [1.0, 2.0, 1.0, 2.0]
    assert arguments["A_ub"].toarray().tolist() == [
        [1, 1, 1, 0, 0, 0],
        [0, 0, 0, 1, 1, 1],
        [2, 2, 2, 0, 0, 0],
        [0, 0, 0, 2, 2, 2],
    ]
    assert "A_eq" not in arguments


def test_bounds_are_broadcast_over_a_block() -> None:
    programme = LinearProgramme()
    programme.variables(2, 2, low=np.array([[1.0], [2.0]]), high=5.0)
    assert programme.arguments()["bounds"].tolist() == [[1.0, 5.0], [1.0, 5.0], [2.0, 5.0], [2.0, 5.0]]
