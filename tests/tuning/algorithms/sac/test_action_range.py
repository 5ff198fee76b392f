"""The range of actions."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from tuning.algorithms.sac.action_range import ActionRange


@pytest.mark.parametrize(
    "space", [gym.spaces.Discrete(2), gym.spaces.Box(-1.0, np.inf, (2,)), gym.spaces.Box(-1.0, 1.0, (2, 2))]
)
def test_action_spaces_that_nothing_can_be_squashed_into_are_refused(space: Any) -> None:
    with pytest.raises(ValueError, match="finite bounds"):
        ActionRange.of(space)


def test_actions_are_stretched_to_the_range_and_never_leave_it() -> None:
    low, high = np.float32([-3.0, 0.1]), np.float32([1.0, 0.7])
    found = ActionRange.of(gym.spaces.Box(low, high)).to_environment(np.float32([[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]]))
    np.testing.assert_allclose(found, [low, 0.5 * (low + high), high], rtol=1e-6)
    assert (found >= low).all()
    assert (found <= high).all()
