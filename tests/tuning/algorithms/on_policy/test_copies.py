"""How many copies PPO and A2C step."""

import pytest

from tuning.algorithms.on_policy.copies import LEAST_ROLLOUT, copies


@pytest.mark.parametrize(("n_steps", "most", "expected"), [
    (2048, 32, 32), (2048, 200, 128), (128, 32, 8), (16, 32, 1), (5, 32, 1), (96, 4, 4), (90, 4, 3), (97 * 16, 32, 16),
])  # fmt: skip
def test_copies_divide_the_rollout_and_each_collects_enough(n_steps: int, most: int, expected: int) -> None:
    found = copies({"n_steps": n_steps}, most)
    assert found == expected
    assert n_steps % found == 0
    assert found == 1 or n_steps // found >= LEAST_ROLLOUT
