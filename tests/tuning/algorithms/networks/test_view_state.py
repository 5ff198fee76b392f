"""A view's state is that of its environment and the observations that the next actions follow."""

from typing import Any

import numpy as np

from tuning.algorithms.networks.view_state import ViewState


class Env:
    """Counts."""

    count = 0

    def get_state(self) -> dict[str, Any]:
        return {"count": self.count}

    def set_state(self, state: dict[str, Any]) -> None:
        self.count = state["count"]


class View(ViewState):
    def __init__(self, count: int) -> None:
        self.env, self._observations = Env(), np.full(3, count)
        self.env.count = count


def test_a_state_is_a_copy_of_both_and_goes_on_from_there() -> None:
    one, other = View(1), View(2)
    state = one.get_state()
    one._observations[:] = 7
    one.env.count = 7
    other.set_state(state)
    assert (other.env.count, other._observations.tolist()) == (1, [1, 1, 1])
    other._observations[:] = 5
    assert state["observations"].tolist() == [1, 1, 1]
