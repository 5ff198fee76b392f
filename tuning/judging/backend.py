"""Which backend evaluates what is judged: contenders, baselines and rules."""

from __future__ import annotations

from envs.environments.backend import Backend, beyond_batch
from envs.objective.aim import Aim
from envs.scenarios.scenario import Scenario


def judging_backend(site: Scenario, aim: Aim) -> Backend:
    """The backend that evaluates a site: `batch`, unless only CityLearn can step the site or tell what is aimed at.

    The batch backend has CityLearn's numbers, a thousand times faster.
    """
    return "citylearn" if why_not_batch(site, aim) else "batch"


def why_not_batch(site: Scenario, aim: Aim) -> str:
    """Reason why the batch backend cannot judge a site; empty where it can."""
    if missing := beyond_batch(site):
        return f"it cannot step {site.title} ({', '.join(missing)})"
    if ratios := aim.beyond_batch(site):
        return f"it does not record what the thermal storages of {site.title} take, which {', '.join(ratios)} needs"
    return ""
