"""Plans of random numbers: those of a year take a minute."""

import numpy as np

from envs.environments.year_forecasts import year_series
from envs.planning.mpc import PlannedHours
from envs.scenarios.scenario import Scenario
from envs.seen import PLAN_HOURS


def made_up_plan(scenario: Scenario, year: int, *_: object) -> PlannedHours:
    """In place of `envs.environments.seen_year.shadow`: each hour and building has numbers of its own."""
    rng = np.random.default_rng(year)
    count, rows = year_series(scenario, year).values["load"].shape
    soc = rng.random((rows, count, 1 + len(PLAN_HOURS)))
    none = np.zeros((rows, count, 0))
    return PlannedHours(rng.normal(size=(rows, count)) * 50, soc, rng.normal(size=rows) * 99, none, none, none)
