"""What a learned policy is held against: the site without control, without PV and battery, and under rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from envs.citylearn_rules import HourlyRule, citylearn_rules
from envs.evaluate import Evaluation, evaluate
from envs.kpis import Part, kpis
from envs.reward import RewardName
from envs.rules import SolarPriority, dear_hours
from envs.scenario import Scenario, Window
from envs.series import import_kwh

if TYPE_CHECKING:
    from envs.reference import Reference
    from envs.vector_env import WindowsEnv

UNCONTROLLED = "uncontrolled"
WITHOUT = "no PV, no battery"
CITYLEARN = "CityLearn"  # before the names of its own controllers
RULES = {"rule: PV first, battery at any hour": False, "rule: PV first, battery in peak hours": True}


def baselines(scenario: Scenario, windows: Sequence[Window], reward: RewardName = "improvement") -> dict[str, list[Evaluation]]:
    """Evaluations of all baselines that apply, by name, each with one a year.

    Args:
        scenario: that the batch backend can step.
        windows: hours that are run through.
        reward: which reward the scores are of.
    """
    from envs.vector_env import WindowsEnv

    env = WindowsEnv(scenario, windows, reward)
    simulator = env.simulator
    found = {UNCONTROLLED: evaluate(env, lambda observations: simulator.uncontrolled_actions())}
    found[WITHOUT] = [without_devices(env, evaluation, windows) for evaluation in found[UNCONTROLLED]]
    found |= {name: evaluate(env, rule) for name, rule in _solar_rules(env).items()}
    for name, actions in citylearn_rules(scenario).items():
        found[f"{CITYLEARN}: {name}"] = evaluate(env, HourlyRule(simulator, actions))
    return found


def _solar_rules(env: WindowsEnv) -> dict[str, SolarPriority]:
    """Those of `RULES` that mean something on a site: none without a battery, and peak hours where some hours are dearer."""
    simulator = env.simulator
    if not (simulator.site.building["battery_action"] >= 0).any():
        return {}
    dear = dear_hours([_reference(env, year) for year in sorted({window.year for window in env.windows})])
    return {
        name: SolarPriority(simulator, peak_hours, dear)
        for name, peak_hours in RULES.items()
        if not peak_hours or dear is not None
    }


def _reference(env: WindowsEnv, year: int) -> Reference:
    reference = env.simulator.reference(year)
    assert reference is not None  # every year of such an environment has one
    return reference


def without_devices(env: WindowsEnv, uncontrolled: Evaluation, windows: Sequence[Window]) -> Evaluation:
    """The site of a year without PV and stationary batteries: what there would be to pay and to emit.

    It has no score: a reward is of what somebody did with a site.

    Args:
        env: of the scenario.
        uncontrolled: of the year, whose vehicles charge alike.
        windows: hours.
    """
    reference = _reference(env, uncontrolled.year)
    parts = []
    for window in windows:
        if window.year != uncontrolled.year:
            continue
        part = slice(window.start, window.start + window.hours)
        run, pv = reference.run, reference.exogenous.pv_kwh
        net = (run.net_kwh - run.battery_kwh)[:, part] + pv[:, part]
        none = np.zeros_like(net)
        own = replace(run, net_kwh=import_kwh(net), battery_kwh=none, charging_kwh=run.charging_kwh[:, part])
        parts.append(Part(window.start, own))
    exogenous = replace(reference.exogenous, pv_kwh=np.zeros_like(reference.exogenous.pv_kwh))
    found = kpis(parts, exogenous, reference.sessions, reference.tariff)
    return replace(uncontrolled, score=float("nan"), terms={}, kpis=found)
