"""The layout of a scenario with stated splits: bounds from the rows that train, and what other splits need to run under it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from envs.observation import ObservationLayout
from envs.scenarios.scenario import Scenario, Split


def join_layouts(layouts: Sequence[ObservationLayout]) -> ObservationLayout:
    """One layout for several segments of one split: the widest bounds of each observation."""
    first = layouts[0]
    return replace(
        first,
        low=tuple(map(min, *(own.low for own in layouts))) if len(layouts) > 1 else first.low,
        high=tuple(map(max, *(own.high for own in layouts))) if len(layouts) > 1 else first.high,
        # Of the first segment in which a vehicle comes to the charger.
        hourly_soc=tuple(next(filter(None, rises), 0.0) for rises in zip(*(own.hourly_soc for own in layouts), strict=True)),
    )


def layout_gap(trained: ObservationLayout, other: ObservationLayout) -> str:
    """Why a policy with a fixed layout cannot run on another site, in a few words; empty where it can.

    Of a policy for single buildings, `tuning.algorithms.networks.building_kinds.why_unfit` decides.
    """
    for what, own, theirs in (("observations", trained.names, other.names), ("actions", trained.actions, other.actions)):
        if len(own) != len(theirs):
            return f"{len(theirs)} {what}, not {len(own)}"
        if own != theirs:
            differs = next(theirs[i] for i in range(len(own)) if own[i] != theirs[i])
            return f"other {what}, such as {differs}"
    return ""


def same_buildings(scenario: Scenario, split: Split) -> bool:
    """Whether a split simulates the buildings that training does."""
    own = {segment.split: segment.buildings for segment in scenario.segments}
    return not own or own[split] == own["train"]
