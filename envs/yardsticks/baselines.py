"""Baselines of learned policies: the site uncontrolled, without PV and battery, and under rules."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from envs.cache import cached_json
from envs.citylearn_backend.simulator import SIMULATORS, read_rules
from envs.current_hour import Present, scaled
from envs.environments.year_cache import run_alone
from envs.objective.evaluate import Evaluation, Policy, evaluate
from envs.objective.kpis import JoinedRun, Part, kpis
from envs.objective.reference import Reference
from envs.objective.series import import_kwh
from envs.scenarios.scenario import Scenario, Split, Window
from envs.task import SiteTask

VERSION = 1  # part of the cache's key of CityLearn's rules


def solar_priority(present: Present, dear_hours: bool = True) -> Policy:
    """PV serves load and vehicles first; batteries store the surplus and return it when the site imports.

    Vehicles charge as on the uncontrolled site. So the surplus or deficit of an hour is the uncontrolled site's export or
    import. The batteries share it in proportion to their power. It knows nothing of the next hour. It gives at any hour, or in
    dear ones alone. There is a battery that can be controlled.
    """
    at = present.battery_actions

    def act(observations: np.ndarray) -> np.ndarray:
        actions, net = present.uncontrolled_actions(), present.uncontrolled_net_kwh
        if dear_hours:
            net = np.where(present.is_dear, net, np.minimum(net, 0.0))
        wanted = np.clip(-net / present.battery_step_kwh, -1.0, 1.0)[:, np.newaxis]
        low, high = present.action_range
        actions[:, at] = scaled(wanted, low[at], high[at])
        return actions

    return act


def hourly(present: Present, actions: np.ndarray) -> Policy:
    """A controller that acts by the hour of the day alone; `actions` of each in CityLearn's ranges, shape (24, actions)."""
    of_hour = scaled(actions, *present.action_range)
    return lambda observations: of_hour[present.hour_of_day]


def citylearn_rules(scenario: Scenario, split: Split = "train") -> dict[str, np.ndarray]:
    """CityLearn's controllers with a rule for every device of a split, by class, each (24, actions); read once and cached."""
    read: Split = "train" if scenario.same_buildings(split) else split

    def rules() -> dict[str, list[list[float]]]:
        with SIMULATORS.lend(scenario, scenario.years(read)[0]) as simulator:
            return read_rules(simulator)

    name = "citylearn-rules" if read == "train" else f"citylearn-rules-{read}"
    tables = cached_json(dict[str, list[list[float]]], f"{scenario.key}/{name}-v{VERSION}.json", rules)
    return {name: np.array(table) for name, table in tables.items()}


UNCONTROLLED = "uncontrolled"
WITHOUT = "no PV, no battery"
CITYLEARN = "CityLearn"  # before the names of its own controllers
RULES = {"rule: PV first, battery at any hour": False, "rule: PV first, battery in peak hours": True}


def baselines(task: SiteTask, windows: Sequence[Window]) -> dict[str, list[Evaluation]]:
    """Evaluations of all baselines that apply, by name, each with one a year."""
    env = task.evaluation_env(windows)
    present, references = env.present, {window.year: env.reference_of(window.year) for window in windows}
    uncontrolled = evaluate(env, lambda observations: present.uncontrolled_actions())
    without = [without_devices(task.site, references[evaluation.year], evaluation, windows) for evaluation in uncontrolled]
    evaluations = {UNCONTROLLED: uncontrolled, WITHOUT: without}
    # Rules need a battery, and the rule for dear hours needs some that are dearer than others.
    has_dear = all(reference.dear.any() for reference in references.values())
    for name, dear_hours in RULES.items() if present.battery_step_kwh > 0.0 else ():
        if has_dear or not dear_hours:
            evaluations[name] = evaluate(env, solar_priority(present, dear_hours))
    for name, actions in citylearn_rules(task.site, task.site.split_of(windows[0].year)).items():
        evaluations[f"{CITYLEARN}: {name}"] = evaluate(env, hourly(present, actions))
    env.close()
    return evaluations


def without_devices(site: Scenario, reference: Reference, uncontrolled: Evaluation, windows: Sequence[Window]) -> Evaluation:
    """KPIs of a year without PV and batteries, vehicles uncontrolled; no score, as that compares policies of one site."""
    parts = []
    for window in windows:
        if window.year != uncontrolled.year:
            continue
        part = window.rows
        run = run_alone(site, window, reference)
        # In a power outage nothing is imported, so load that PV would have served is lost.
        net = np.where(run.off_grid, 0.0, run.net_kwh - run.battery_kwh + reference.exogenous.pv_kwh[:, part])
        without_any = replace(run, net_kwh=import_kwh(net), battery_kwh=np.zeros_like(net))
        parts.append(Part.of(window.start, without_any, reference.sessions))
    exogenous = replace(reference.exogenous, pv_kwh=np.zeros_like(reference.exogenous.pv_kwh))
    without = kpis(JoinedRun(parts, exogenous, reference))
    no_ratios = dict.fromkeys(uncontrolled.citylearn, float("nan"))
    return replace(uncontrolled, score=float("nan"), terms={}, kpis=without, citylearn=no_ratios)
