"""Reads the actions of CityLearn's own rule-based controllers, which depend on the hour of the day alone."""

from __future__ import annotations

from common.units import DAY
from envs.citylearn_backend.simulator import CityLearnSimulator

CLASSES = ("BasicRBC", "OptimizedRBC", "BasicBatteryRBC", "BasicElectricVehicleRBC_ReferenceController")
_UNKNOWN_ACTION = "Unknown action name"  # CityLearn's message about a device that a controller has no rule for


def read_rules(simulator: CityLearnSimulator) -> dict[str, list[list[float]]]:
    """Actions of the controllers that have a rule for every device, by class.

    Returns:
        Actions of each hour of the day, 0 to 23, in CityLearn's ranges, each of shape (24, actions).
    """
    from citylearn.agents import rbc

    rules: dict[str, list[list[float]]] = {}
    for name in CLASSES:
        try:
            agent = getattr(rbc, name)(simulator.env)
        except ValueError as error:
            if _UNKNOWN_ACTION not in str(error):
                raise
            continue
        # CityLearn counts the hours of a day from 1 to 24.
        (by_device,), (devices,) = agent.action_map, agent.action_names
        rules[name] = [[float(by_device[device][hour + 1]) for device in devices] for hour in range(DAY)]
    return rules
