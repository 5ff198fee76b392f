"""Baselines of learned policies: the site without control, without PV and battery, and under rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from envs.objective.evaluate import Evaluation, evaluate
from envs.objective.joined_run import JoinedRun, Part
from envs.objective.kpis import kpis
from envs.objective.reference import Reference
from envs.objective.series import cut, import_kwh
from envs.scenarios.scenario import Window
from envs.task import Task
from envs.yardsticks.rules import HourlyRule, SolarPriority, citylearn_rules

UNCONTROLLED = "uncontrolled"
WITHOUT = "no PV, no battery"
CITYLEARN = "CityLearn"  # before the names of its own controllers
RULES = {"rule: PV first, battery at any hour": False, "rule: PV first, battery in peak hours": True}


def baselines(task: Task, windows: Sequence[Window]) -> dict[str, list[Evaluation]]:
    """Evaluations of all baselines that apply, by name, each with one a year."""
    env = task.evaluation_env(windows)
    present, years = env.present, list(dict.fromkeys(window.year for window in windows))
    references = {year: env.reference_of(year) for year in years}
    evaluations = {UNCONTROLLED: evaluate(env, lambda observations: present.uncontrolled_actions())}
    evaluations[WITHOUT] = [without_devices(references[own.year], own, windows) for own in evaluations[UNCONTROLLED]]
    # Rules need a battery, and the rule for dear hours needs some that are dearer than others.
    has_dear = all(reference.dear.any() for reference in references.values())
    for name, dear_hours in RULES.items() if present.battery_power_kw > 0.0 else ():
        if has_dear or not dear_hours:
            evaluations[name] = evaluate(env, SolarPriority(present, dear_hours))
    for name, actions in citylearn_rules(task.site, task.site.split_of(windows[0].year)).items():
        evaluations[f"{CITYLEARN}: {name}"] = evaluate(env, HourlyRule(present, actions))
    env.close()
    return evaluations


def without_devices(reference: Reference, uncontrolled: Evaluation, windows: Sequence[Window]) -> Evaluation:
    """KPIs of the site of a year without PV and stationary batteries; the vehicles charge as on the uncontrolled one.

    It has no score: the reward compares policies of one site, and this is another site.
    """
    parts = []
    for window in windows:
        if window.year != uncontrolled.year:
            continue
        part = slice(window.start, window.start + window.hours)
        run = cut(reference.run, window.start, window.hours)
        # In a power outage nothing is imported, so load that PV would have served is lost.
        net = np.where(run.off_grid, 0.0, run.net_kwh - run.battery_kwh + reference.exogenous.pv_kwh[:, part])
        parts.append(Part(window.start, replace(run, net_kwh=import_kwh(net), battery_kwh=np.zeros_like(net))))
    exogenous = replace(reference.exogenous, pv_kwh=np.zeros_like(reference.exogenous.pv_kwh))
    without = kpis(JoinedRun(parts, exogenous, reference.sessions, reference.tariff))
    no_ratios = dict.fromkeys(uncontrolled.citylearn, float("nan"))
    return replace(uncontrolled, score=float("nan"), terms={}, kpis=without, citylearn=no_ratios)
