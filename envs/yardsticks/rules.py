"""Controllers that follow a rule, to hold learned ones against."""

from __future__ import annotations

import numpy as np

from envs.current_hour import Present, scaled


class SolarPriority:
    """PV goes to the load and the vehicles, what is left to the batteries; these give it back when the site imports.

    Vehicles charge as on the uncontrolled site, at full power until they have what they ask for. So what is left, or missing,
    in an hour is the uncontrolled site's export or import in it, which is shared out by the batteries' power.

    A policy for the environment whose present hour it looks at, as policies do by their observation; it knows nothing of the
    next.
    """

    def __init__(self, present: Present, dear_hours: bool = True) -> None:
        """Make the rule.

        Args:
            present: hour of the environment that it controls.
            dear_hours: whether batteries give only in hours in which imports cost most.

        Raises:
            ValueError: if there is no battery that can be controlled.
        """
        self._present, self._dear_hours = present, dear_hours
        if present.battery_power_kw <= 0.0:
            raise ValueError("the solar-priority rule moves energy by batteries, and no battery has an action here")

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        """Actions of the hour.

        Args:
            observations: not used; shape (copies, observations).

        Returns:
            Within [-1, 1], shape (copies, actions).
        """
        present = self._present
        actions = present.uncontrolled_actions()
        net = present.uncontrolled_net_kwh
        if self._dear_hours:
            net = np.where(present.is_dear, net, np.minimum(net, 0.0))
        low, high = (limit[present.battery_actions] for limit in present.action_range)
        wanted = np.clip(-net / present.battery_power_kw, -1.0, 1.0)[:, np.newaxis]
        actions[:, present.battery_actions] = scaled(wanted, low, high)
        return actions
