"""Whether a policy of the training split can run on the other splits of its scenario."""

from __future__ import annotations

from envs.environments.split_layout import layout_gap, same_buildings
from envs.environments.year_cache import district, observation_layout
from envs.errors import ScenarioError
from envs.scenarios.scenario import SPLITS, Scenario


def check_one_layout(scenario: Scenario) -> None:
    """Check that a policy of the training split can run on the others.

    Raises:
        ScenarioError: if one of them has buildings with other observations or actions.
    """
    for split in SPLITS:
        if not same_buildings(scenario, split):
            gap = layout_gap(observation_layout(scenario), observation_layout(scenario, scenario.years(split)[0]))
            if gap:
                shares = ", or let one policy act for each building: --set shared_policy=true" if district(scenario) else ""
                raise ScenarioError(
                    f"--{split}-buildings: {scenario.described(split)} has {gap}, so a policy of "
                    f"{scenario.described('train')} cannot run there; name as many buildings with the same devices{shares}"
                )
