"""Whether the policies of a search can begin as a copy of model predictive control."""

from __future__ import annotations

from envs.environments.backend import Backend
from envs.environments.fit import why_no_mpc
from envs.objective.reward import RewardName
from envs.scenarios.scenario import Scenario
from tuning.algorithms.registry import algorithm
from tuning.experiment.errors import UsageError


def check_teacher(site: Scenario, algo: str, backend: Backend, reward: RewardName) -> None:
    """Check that model predictive control can teach.

    Args:
        site: that policies learn on.
        algo: that learns.
        backend: that steps the site.
        reward: that is learned.

    Raises:
        UsageError: if it cannot, with the reason.
    """
    reasons = {
        f"{algo} cannot begin as a copy": not algorithm(algo).can_be_taught,
        "its lessons are carried out by the batch backend: leave --backend out": backend != "batch",
        "it plans for the reward improvement: leave --reward out": reward != "improvement",
    }
    reason = next((reason for reason, applies in reasons.items() if applies), "") or why_no_mpc(site)
    if reason:
        raise UsageError(f"--teacher mpc: {reason}")
