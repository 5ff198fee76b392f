"""What a policy sees beside CityLearn's own observations; none of it by default, and all of it known in its hour.

A plan shows of each building what model predictive control does with battery and tanks, and their states of charge; of the
site, the net import that it plans.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from envs.objective.weights import DEFAULT, Weights

PlanMethod = Literal["none", "yesterday", "seven-days", "learned"]
# Hours from the present one: at the end of each, the planned state of charge is seen.
PLAN_HOURS = (0, 1, 2, 4, 8)
PLANNED_BATTERY, PLANNED_SOC = "planned_battery", "planned_soc"  # energy of this hour, and state of charge at its beginning
# Of a tank: part of its capacity that it takes in this hour, and state of charge at its beginning; by its use.
PLANNED_TANK, PLANNED_TANK_SOC = "planned_{}_storage", "planned_{}_soc"
# Kinds of observations that are energies [kWh], by the beginnings of their names.
ENERGIES = (PLANNED_BATTERY,)
SITE_ENERGIES = frozenset({"planned_net"})  # of the whole site


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

    @property
    def parts(self) -> tuple[Self, ...]:
        """What takes long to make of it: plans."""
        return () if self.plan == "none" else (type(self)(plan=self.plan, weights=self.weights),)

    @property
    def learns(self) -> bool:
        """Whether it needs learned forecasts."""
        return self.plan == "learned"

    def own(self, tanks: Sequence[str] = ()) -> tuple[str, ...]:
        """Kinds of what is seen of each building; `tanks` as of `envs.planning.mpc_site.uses_of`."""
        if self.plan == "none":
            return ()
        of_tanks = (kind.format(use) for use in tanks for kind in (PLANNED_TANK, PLANNED_TANK_SOC))
        return (PLANNED_BATTERY, PLANNED_SOC, *(f"{PLANNED_SOC}_{hour}" for hour in PLAN_HOURS), *of_tanks)

    @property
    def common(self) -> tuple[str, ...]:
        """Kinds of what is seen of the site as a whole."""
        return () if self.plan == "none" else ("planned_net",)

    def names(self, buildings: int, tanks: Sequence[str] = ()) -> tuple[str, ...]:
        """Names of the further observations of so many buildings: those of the first, of the second, ..., of the site."""
        return (*self.own(tanks) * buildings, *self.common)
