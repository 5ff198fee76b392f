"""Controllers that follow a rule, to hold learned ones against."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from envs.batch.simulator import BatchSimulator
from envs.reference import Reference


class SolarPriority:
    """PV goes to the load and the vehicles, what is left to the batteries; these give it back when the site imports.

    Vehicles charge as on the uncontrolled site, at full power until they have what they ask for. So what is left, or missing,
    in an hour is the uncontrolled site's export or import in it, which is shared out by the batteries' power.

    A policy for the environment whose simulator it looks at: it knows the present hour, as policies do by their
    observation, and nothing of the next.
    """

    def __init__(self, simulator: BatchSimulator, peak_hours: bool = True, dear: np.ndarray | None = None) -> None:
        """Make the rule.

        Args:
            simulator: of the environment that it controls, with references.
            peak_hours: whether batteries give in peak hours only, where imports cost most.
            dear: which hours these are, for each row of all years of the simulator, shape (rows,), see `dear_hours`; those
                of the demand charge by default.

        Raises:
            ValueError: if there is no battery that can be controlled.
        """
        site = simulator.site
        self._simulator, self._peak_hours, self._dear = simulator, peak_hours, dear
        buildings = np.flatnonzero(site.building["battery_action"] >= 0)
        self._actions = site.building["battery_action"][buildings]
        self._power_kw = float(site.battery["nominal_power"][buildings].sum())
        if self._power_kw <= 0.0:
            raise ValueError("the solar-priority rule moves energy by batteries, and no battery has an action here")

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        """Actions of the hour.

        Args:
            observations: not used; shape (copies, observations).

        Returns:
            Within [-1, 1], shape (copies, actions).
        """
        simulator = self._simulator
        actions = simulator.uncontrolled_actions()
        net = simulator.uncontrolled_net_kwh
        if self._peak_hours:
            gives = simulator.peak_hour if self._dear is None else self._dear[simulator.row]
            net = np.where(gives, net, np.minimum(net, 0.0))
        low, span = (simulator.site.action[name][self._actions] for name in ("low", "span"))
        wanted = np.clip(-net / self._power_kw, -1.0, 1.0)[:, np.newaxis]
        actions[:, self._actions] = (np.clip(wanted, low, low + span) - low) / np.where(span > 0.0, span, 1.0) * 2.0 - 1.0
        return actions


def dear_hours(references: Sequence[Reference]) -> np.ndarray | None:
    """Hours in which imports cost most.

    These are the peak hours of the demand charge; without one, the hours whose price (mean over the buildings) is above the
    mean of its year.

    Args:
        references: of each year of a simulator, in its order.

    Returns:
        Shape (rows of all years,); None if a year has no demand charge and one price, so that no hour is dearer than another.
    """
    found = []
    for reference in references:
        price = reference.exogenous.price.mean(axis=0)
        if reference.tariff:
            found.append(np.isin(reference.exogenous.hour, reference.tariff.peak_hours))
        elif np.ptp(price) > 0.0:
            found.append(price > price.mean())
        else:
            return None
    return np.concatenate(found)
