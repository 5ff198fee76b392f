"""What environments have in common that show a site to a policy in another form."""

from __future__ import annotations

from typing import Any

import numpy as np


class ViewState:
    """Adds its state to an environment that keeps the site's observations between steps.

    Attributes:
        env: of the site.
    """

    env: Any
    _observations: np.ndarray

    def get_state(self) -> dict[str, Any]:
        """State of the environment, with the observations that the next actions follow."""
        return {"env": self.env.get_state(), "observations": self._observations.copy()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from a state of `get_state`, instead of a `reset`."""
        self.env.set_state(state["env"])
        self._observations = state["observations"].copy()


def own_actions(env: Any, actions: np.ndarray) -> np.ndarray:
    """Actions of the site as an environment takes them in its present hour.

    Args:
        env: copies of the site, or what a view makes of them.
        actions: of the site, shape (copies, actions).

    Returns:
        Shape (sub-environments, own actions); NaN for a device that there is not.
    """
    find = getattr(env, "own_actions", None)
    return actions if find is None else find(actions)
