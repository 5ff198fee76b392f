"""Milliseconds an hour of model predictive control: HiGHS going on from hour to hour, fresh in each, and SciPy's `linprog`.

Run: `python benchmarks/mpc_speed.py [SCENARIO] [HOURS]`. Quote the ratios; machines differ and are noisy.
"""

import os
import sys
import time
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_array

from envs.planning.mpc import HORIZON, HourPlan, ModelPredictiveControl
from envs.planning.mpc_programme import Plan, RecedingProgramme
from envs.scenarios.scenario import Window, scenario
from envs.task import SiteTask
from envs.yardsticks.mpc_runs import mpc_plant

START = 30 * 24  # row at which the run begins: a month with its days before
solve = RecedingProgramme.solve


def main() -> None:
    site = scenario(sys.argv[1] if len(sys.argv) > 1 else "iquitos")
    hours = int(sys.argv[2]) if len(sys.argv) > 2 else 240
    year = site.years("validation")[0]
    plant = mpc_plant(site, year, "seven-days")
    env = SiteTask(site.name).evaluation_env([Window(year, START, hours)])
    planned: list[HourPlan] = []
    kept = anew = by_linprog = 0.0

    def timed(programme: RecedingProgramme, hour: HourPlan) -> Plan:
        nonlocal kept
        planned.append(hour)
        begun = time.process_time()
        plan = solve(programme, hour)
        kept += time.process_time() - begun
        return plan

    RecedingProgramme.solve = timed  # type: ignore[method-assign]
    begun = time.process_time()
    list(env.episodes(ModelPredictiveControl(env.present, {year: plant})))
    whole = time.process_time() - begun
    programme = RecedingProgramme(plant.site, HORIZON)
    for hour in planned:
        programme._solver.clearSolver()  # it keeps the programme, and forgets the last solution
        begun = time.process_time()
        solve(programme, hour)
        anew += time.process_time() - begun
        given = arguments(programme)
        begun = time.process_time()
        assert linprog(**given, method="highs").status == 0
        by_linprog += time.process_time() - begun
    print(f"{site.title}, {hours} hours, {HORIZON} ahead, milliseconds of processor time an hour")
    print(f"control with its simulation: {1e3 * whole / hours:.2f}")
    for name, seconds in (("kept between hours", kept), ("solved anew", anew), ("by linprog", by_linprog)):
        print(f"programme {name}: {1e3 * seconds / hours:.2f}")


def arguments(programme: RecedingProgramme) -> dict[str, Any]:
    """What HiGHS holds of a programme, as arguments of `linprog`."""
    model = programme._solver.getLp()
    of_columns = model.a_matrix_
    factors = csc_array((of_columns.value_, of_columns.index_, of_columns.start_)).tocsr()
    low, high = np.array(model.row_lower_), np.array(model.row_upper_)
    equal, limited = low == high, (low < high) & np.isfinite(high)
    return {
        "c": model.col_cost_, "bounds": np.stack([model.col_lower_, model.col_upper_], axis=1),
        "A_eq": factors[equal], "b_eq": high[equal], "A_ub": factors[limited], "b_ub": high[limited],
    }  # fmt: skip


if __name__ == "__main__":
    main()
