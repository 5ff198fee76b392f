"""Rules and model predictive control see the same present hour on both backends."""

import numpy as np
import pytest

from envs.current_hour import scaled


@pytest.mark.parametrize(("action", "expected"), [(-1.0, -1.0), (0.5, 0.0), (2.0, 1.0), (-9.0, -1.0), (9.0, 1.0)])
def test_a_range_becomes_that_of_environments(action: float, expected: float) -> None:
    low, high = np.array([-1.0, 0.0]), np.array([2.0, 0.0])
    found = scaled(np.array([[action, 5.0]]), low, high)
    assert found.tolist() == [[expected, -1.0]]
