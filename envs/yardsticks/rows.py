"""What policies are compared with, as rows of the table `evaluations`: one for each controller and year."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from common.measure import LEAST_SERVED, SERVED_BOUND, VEHICLES_SERVED
from envs.forecasts import Method
from envs.objective.aim import idle_terms
from envs.objective.columns import evaluation_row
from envs.objective.evaluate import Evaluation
from envs.scenarios.scenario import Scenario, Window
from envs.task import SiteTask
from envs.yardsticks.baselines import baselines
from envs.yardsticks.bound import OBJECTIVES, Bound, Objective, bound, served_bounds
from envs.yardsticks.mpc_runs import NAMES, mpc

Row = dict[str, Any]
SLACK = 1e-6  # of what is served, of the solver


def by_year(windows: Iterable[Window]) -> dict[int, tuple[Window, ...]]:
    """Group windows by their year."""
    groups: dict[int, tuple[Window, ...]] = {}
    for window in windows:
        groups[window.year] = (*groups.get(window.year, ()), window)
    return groups


def row_of(evaluation: Evaluation, task: SiteTask, split: str, backend: str) -> Row:
    """An evaluation, with what was evaluated where."""
    return {"scenario": task.scenario, "split": split, "backend": backend, **evaluation_row(evaluation)}


def baseline_rows(task: SiteTask, split: str, windows: Sequence[Window]) -> list[Row]:
    """The site without control, without its devices, and under rules."""
    return [
        {"contender": name, **row_of(evaluation, task, split, task.stepped_by)}
        for name, evaluations in baselines(task, windows).items()
        for evaluation in evaluations
    ]


def mpc_rows(
    task: SiteTask, split: str, windows: Sequence[Window], method: Method, on_progress: Callable[[float], None] | None = None
) -> list[Row]:
    """Model predictive control, where `envs.environments.fit.why_no_mpc` has nothing against it; see `mpc`."""
    evaluations = mpc(task, windows, method, on_progress=on_progress)
    return [{"contender": NAMES[method], **row_of(evaluation, task, split, "batch")} for evaluation in evaluations]


def bounded(site: Scenario) -> tuple[Objective, ...]:
    """Objectives whose bound means something: that of what is always 0 is an arbitrary point."""
    idle = idle_terms(site)
    return tuple(name for name in OBJECTIVES if name not in idle)


def bound_rows(
    task: SiteTask,
    split: str,
    windows: Sequence[Window],
    objectives: Sequence[Objective] = OBJECTIVES,
    most_seconds: float | None = None,
) -> list[Row]:
    """Bounds, where `envs.environments.fit.why_no_bound` has nothing against them; errors as of `bound`.

    Where that of the score leaves vehicles without what a winner has to serve, the bound of those that do stands beside it.

    `most_seconds` is the time of all windows and objectives together.
    """
    rows, begun = [], time.monotonic()

    def left() -> float | None:
        return None if most_seconds is None else most_seconds - (time.monotonic() - begun)

    for objective in objectives:
        bounds = [bound(task, window, objective, left()) for window in windows]
        rows += _rows_of(f"bound of {objective}", bounds, task, split, windows)
        if objective == "score" and _may_not_win(bounds, task):
            rows += _rows_of(SERVED_BOUND, served_bounds(task, windows, left()), task, split, windows)
    return rows


def _may_not_win(bounds: Sequence[Bound], task: SiteTask) -> bool:
    """Whether these bounds serve vehicles less than a winner has to; not where the aim states a lower requirement."""
    missing, required, without = (
        sum(getattr(each, name) for each in bounds) for name in ("missing_kwh", "required_kwh", "uncontrolled_missing_kwh")
    )
    stated = [(requirement.measure.name, requirement.sign, requirement.bound) for requirement in task.aim.requirements]
    served = (bound for kpi, sign, bound in stated if kpi == VEHICLES_SERVED.measure.name and sign == ">=")
    is_less = VEHICLES_SERVED.is_stated(kpi for kpi, *_ in stated) and max(served, default=0.0) < LEAST_SERVED
    return not is_less and required - missing < (LEAST_SERVED - SLACK) * (required - without)


def _rows_of(name: str, bounds: Sequence[Bound], task: SiteTask, split: str, windows: Sequence[Window]) -> list[Row]:
    rows, of_window = list[Row](), dict(zip(windows, bounds, strict=True))
    for year, year_windows in by_year(windows).items():
        steps, of_year = [window.hours for window in year_windows], [of_window[window] for window in year_windows]
        missing, required = sum(each.missing_kwh for each in of_year), sum(each.required_kwh for each in of_year)
        rows.append(
            {
                "contender": name,
                "scenario": task.scenario,
                "split": split,
                "year": year,
                "backend": "batch",
                "hours": sum(window.lasts for window in year_windows),
                "score": float(np.average([each.score for each in of_year], weights=steps)),
                "co2_kg": sum(each.co2_kg for each in of_year),
                "bill": sum(each.cost for each in of_year),
                "import_kwh": sum(each.import_kwh for each in of_year),
                "ev_missing_kwh": missing,
                "ev_required_kwh": required,
                "ev_served": 1.0 - missing / required if required else math.nan,
            }
        )
    return rows
