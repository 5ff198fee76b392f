"""What a policy sees beside CityLearn's own observations; none of it by default, and all of it known in its hour.

A plan shows of each building what model predictive control does with battery, tanks and thermal devices, and the states of
charge; of the site, the net import that it plans.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from envs.objective.weights import DEFAULT, Weights

PlanMethod = Literal["none", "yesterday", "seven-days", "learned"]
# Hours from the present one: at the end of each, the planned state of charge is seen.
PLAN_HOURS = (0, 1, 2, 4, 8)
PLANNED_BATTERY, PLANNED_SOC = "planned_battery", "planned_soc"  # energy of this hour, and state of charge at its beginning
# Of a tank: part of its capacity that it takes an hour, and state of charge at its beginning; by its use.
PLANNED_TANK, PLANNED_TANK_SOC = "planned_{}_storage", "planned_{}_soc"
TANK_ACTION = "_storage"  # end of the name of an action of a tank, after its use
PLANNED_DEVICE = "planned_{}"  # action in this hour, within [-1, 1]; by its name
PLANNED_NET = "planned_net"  # energy of this hour, of the whole site


@dataclass(frozen=True)
class Seen:
    """What a policy sees. The default is what CityLearn and the tariff give."""

    day_peak: bool = False  # whether the day's highest import so far is observed, see `envs.objective.weights.Weights`
    plan: PlanMethod = "none"  # its forecasts
    weights: Weights = DEFAULT  # of the reward that the plan is made for; the default without a plan

    @classmethod
    def of(cls, weights: Weights, assignment: Mapping[str, Any] | None = None) -> Self:
        """What the weights of the reward and a trial's hyperparameters say."""
        plan = (assignment or {}).get("plan", "none")
        return cls(weights.observes_day_peak, plan, DEFAULT if plan == "none" else weights)

    @property
    def is_plain(self) -> bool:
        """Whether nothing is seen beside the observations and the peaks."""
        return self.plan == "none"

    def own(self, actions: Sequence[str] = ()) -> tuple[str, ...]:
        """Kinds of what is seen of each building; `actions` as of `envs.planning.mpc_site.planned_actions`."""
        if self.plan == "none":
            return ()
        uses = [name.removesuffix(TANK_ACTION) for name in actions if name.endswith(TANK_ACTION)]
        of_tanks = (kind.format(use) for use in uses for kind in (PLANNED_TANK, PLANNED_TANK_SOC))
        of_devices = (PLANNED_DEVICE.format(name) for name in actions if not name.endswith(TANK_ACTION))
        return (PLANNED_BATTERY, PLANNED_SOC, *(f"{PLANNED_SOC}_{hour}" for hour in PLAN_HOURS), *of_tanks, *of_devices)

    @property
    def common(self) -> tuple[str, ...]:
        """Kinds of what is seen of the site as a whole."""
        return () if self.plan == "none" else (PLANNED_NET,)

    def names(self, buildings: int, actions: Sequence[str] = ()) -> tuple[str, ...]:
        """Names of the further observations of so many buildings: those of the first, of the second, ..., of the site."""
        return (*self.own(actions) * buildings, *self.common)
