"""Controllers that follow a rule, as baselines of learned ones."""

from __future__ import annotations

import numpy as np

from envs.current_hour import Present, scaled


class SolarPriority:
    """PV serves load and vehicles first; batteries store the surplus and return it when the site imports.

    Vehicles charge as on the uncontrolled site. So the surplus or deficit of an hour is the uncontrolled site's export or
    import. The batteries share it in proportion to their power. It knows nothing of the next hour.
    """

    def __init__(self, present: Present, dear_hours: bool = True) -> None:
        """Create the rule; with `dear_hours`, batteries give only in hours in which imports cost most.

        Raises:
            ValueError: if there is no battery that can be controlled.
        """
        self._present, self._dear_hours = present, dear_hours
        if present.battery_power_kw <= 0.0:
            raise ValueError("the solar-priority rule moves energy by batteries, and no battery has an action here")

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        """Actions of the hour within [-1, 1], shape (copies, actions)."""
        present = self._present
        actions = present.uncontrolled_actions()
        net = present.uncontrolled_net_kwh
        if self._dear_hours:
            net = np.where(present.is_dear, net, np.minimum(net, 0.0))
        low, high = (limit[present.battery_actions] for limit in present.action_range)
        wanted = np.clip(-net / present.battery_power_kw, -1.0, 1.0)[:, np.newaxis]
        actions[:, present.battery_actions] = scaled(wanted, low, high)
        return actions
