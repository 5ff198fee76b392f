"""Whether a policy can run on a scenario: whether that has what it sees, and other splits the layout of training."""

from __future__ import annotations

from envs.environments.backend import beyond_batch
from envs.environments.split_layout import layout_gap, same_buildings
from envs.environments.year_cache import district, observation_layout
from envs.errors import ScenarioError
from envs.scenarios.scenario import SPLITS, Scenario
from envs.seen import Seen
from envs.yardsticks.linear_model import why_no_mpc


def check_seen(scenario: Scenario, seen: Seen) -> None:
    """Check that a scenario has what a policy is to see.

    Raises:
        ScenarioError: if it has not; says why.
    """
    if seen.plan != "none" and (reason := why_no_plan(scenario)):
        raise ScenarioError(f"plan={seen.plan}: {reason}; leave it out")


def why_no_plan(scenario: Scenario) -> str | None:
    """Why there is no plan of model predictive control for a scenario; None where there is one."""
    if missing := beyond_batch(scenario):
        return f"a plan is made of the batch backend's tables, which does not support of {scenario.title}: {', '.join(missing)}"
    reason = why_no_mpc(scenario)
    return f"{scenario.title} has no model predictive control ({reason})" if reason else None


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
