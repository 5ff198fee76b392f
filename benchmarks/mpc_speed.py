"""Milliseconds an hour of model predictive control: HiGHS going on from hour to hour, fresh in each, and SciPy's `linprog`.

Run: `python benchmarks/mpc_speed.py [SCENARIO] [HOURS]`. Quote the ratios; machines differ and are noisy.
"""

import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from scipy.optimize import linprog

from envs.planning.mpc import HORIZON, HourPlan, ModelPredictiveControl
from envs.planning.mpc_programme import Plan, RecedingProgramme
from envs.scenarios.scenario import Window, scenario
from envs.task import SiteTask
from envs.yardsticks.mpc_runs import mpc_plant

START = 30 * 24  # row at which the run begins: a month with its days before


class Timed(RecedingProgramme):
    """Keeps the numbers of each hour, and the time of its solution."""

    hours: list[HourPlan] = []  # noqa: RUF012 - one run, and no other
    seconds = 0.0

    def solve(self, hour: HourPlan) -> Plan:
        """As the programme, with its hour and its time noted."""
        Timed.hours.append(hour)
        begun = time.process_time()
        plan = super().solve(hour)
        Timed.seconds += time.process_time() - begun
        return plan


def by_scipy(programme: RecedingProgramme, hour: HourPlan) -> None:
    cost, low, high, _, row_high = programme.numbers(hour)
    equal, other = programme.matrices(hour)
    count = equal.shape[0]
    held, limited = np.isfinite(row_high[:count]), np.isfinite(row_high[count:])
    result = linprog(
        cost, A_eq=equal[held], b_eq=row_high[:count][held], A_ub=other[limited], b_ub=row_high[count:][limited],
        bounds=np.stack([low, high], axis=1), method="highs",
    )  # fmt: skip
    assert result.status == 0


def main() -> None:
    site = scenario(sys.argv[1] if len(sys.argv) > 1 else "iquitos")
    hours = int(sys.argv[2]) if len(sys.argv) > 2 else 240
    year = site.years("validation")[0]
    plant = mpc_plant(site, year, "seven-days")
    env = SiteTask(site.name).evaluation_env([Window(year, START, hours)])
    policy = ModelPredictiveControl(env.present, {year: plant}, programme=Timed)
    begun = time.process_time()
    list(env.episodes(policy))
    whole = time.process_time() - begun
    print(f"{site.title}, {hours} hours, {HORIZON} ahead, milliseconds of processor time an hour")
    print(f"control with its simulation: {1e3 * whole / hours:.2f}")
    print(f"programme kept between hours: {1e3 * Timed.seconds / hours:.2f}")
    planned = list(Timed.hours)
    for name, keeps in (("programme solved anew", False), ("linprog", None)):
        programme = RecedingProgramme(plant.site, HORIZON, keeps=bool(keeps))
        begun = time.process_time()
        for hour in planned:
            if keeps is None:
                by_scipy(programme, hour)
            else:
                programme.solve(hour)
        print(f"{name}: {1e3 * (time.process_time() - begun) / hours:.2f}")


if __name__ == "__main__":
    main()
