"""What two aims get of the reward: how the weights of their terms are divided between them.

Policies that are all rewarded alike end close together, so a front of two aims is only as wide as the rewards differ. Therefore
each trial has a share: the first aim's part of what both terms weigh together. All other weights stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from common.measure import Measure
from envs.objective.weights import Weights

# The term of the reward that a measure improves with. What is not here has none.
TERM_OF: Mapping[str, str] = {
    "co2_kg": "co2",
    "energy_cost": "cost",
    "demand_charge": "cost",
    "bill": "cost",
    "self_consumption": "solar",
    "export_kwh": "solar",
    "ramping_kwh": "grid",
    "ev_missing_kwh": "ev",
    "ev_served": "ev",
    "departures_met": "ev",
    "peak_kw": "peak",
    "daily_peak_kw": "peak",
}


@dataclass(frozen=True)
class RewardShare:
    """How the terms of two aims share what they weigh together of the user's weights; the first weighs more than 0."""

    weights: Weights
    first: str
    second: str

    @classmethod
    def of(cls, weights: Weights, first: Measure, second: Measure) -> Self | None:
        """The share between two aims; None where there is none to draw, see `why_none`."""
        if why_none(weights, first, second):
            return None
        return cls(weights, TERM_OF[first.name], TERM_OF[second.name])

    @property
    def together(self) -> float:
        """What both terms weigh together."""
        by_term = self.weights.by_term()
        return by_term[self.first] + by_term[self.second]

    @property
    def default(self) -> float:
        """The first aim's share of the user's weights."""
        return self.weights.by_term()[self.first] / self.together

    def weights_at(self, share: float) -> Weights:
        """Weights of the reward of a trial."""
        if share == self.default:
            return self.weights  # exactly, without rounding
        return replace(self.weights, **{self.first: share * self.together, self.second: (1.0 - share) * self.together})

    def share_in(self, weights: Weights) -> float:
        """The first aim's share of the weights of a trial."""
        if weights == self.weights:
            return self.default
        by_term = weights.by_term()
        return by_term[self.first] / (by_term[self.first] + by_term[self.second])


def why_none(weights: Weights, first: Measure, second: Measure) -> str:
    """Why two aims have no share of the reward to draw; empty where they have one."""
    without = [own.name for own in (first, second) if own.name not in TERM_OF]
    if without:
        return f"{' and '.join(without)} has no term of its own in the reward"
    terms = [TERM_OF[own.name] for own in (first, second)]
    if terms[0] == terms[1]:
        return f"both have the term {terms[0]} of the reward"
    # A policy observes what the user's weights reward, so no trial may reward what these do not.
    unweighted = [term for term in terms if not weights.by_term()[term]]
    if unweighted:
        return f"--weights give {' and '.join(unweighted)} no weight"
    return ""
