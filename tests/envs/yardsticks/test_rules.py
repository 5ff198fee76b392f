"""The solar-priority rule, hour by hour."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.environments.site_env import SiteEnv
from envs.environments.vector_env import WindowsEnv
from envs.objective.evaluate import evaluate, score
from envs.objective.reference import Reference
from envs.scenarios.scenario import Window, scenario
from envs.scenarios.tariff import DemandCharge
from envs.task import Task
from envs.yardsticks.baselines import CITYLEARN, UNCONTROLLED, baselines
from envs.yardsticks.rules import HourlyRule, SolarPriority, citylearn_rules

WINDOWS = (Window(0, 0, 168), Window(0, 500, 168))


@pytest.mark.parametrize("peak_hours", [True, False])
def test_a_surplus_is_stored_and_given_back_where_the_site_imports(small_schema: Path, peak_hours: bool) -> None:
    env = WindowsEnv(scenario(str(small_schema)), WINDOWS)
    rule, simulator = SolarPriority(env.present, peak_hours), env.simulator
    power = simulator.site.battery["nominal_power"][0]
    seen = []

    def policy(observations: np.ndarray) -> np.ndarray:
        actions = rule(observations)
        np.testing.assert_array_equal(actions[:, 1:], simulator.uncontrolled_actions()[:, 1:])
        seen.append((simulator.uncontrolled_net_kwh, simulator.is_dear, actions[:, 0]))
        return actions

    list(env.episodes(policy))
    net, peak, action = (np.concatenate(values) for values in zip(*seen, strict=True))
    assert (net < 0.0).any()
    assert (net[peak] > 0.0).any()
    gives = (net > 0.0) & (peak | (not peak_hours))
    np.testing.assert_allclose(action[net < 0.0], np.minimum(1.0, -net[net < 0.0] / power))
    np.testing.assert_allclose(action[gives], -np.minimum(1.0, net[gives] / power))
    assert (action[(net > 0.0) & ~gives] == 0.0).all()


def test_it_is_better_than_an_idle_battery_and_serves_vehicles_alike(small_schema: Path) -> None:
    env = WindowsEnv(scenario(str(small_schema)), WINDOWS)
    (found,) = evaluations = evaluate(env, SolarPriority(env.present))
    assert score(evaluations) > 0.01
    assert found.kpis["co2_kg"] < found.uncontrolled["co2_kg"]
    assert found.kpis["ev_served"] == pytest.approx(found.uncontrolled["ev_served"], abs=1e-6)


def test_without_a_battery_there_is_no_rule(small_schema: Path) -> None:
    env = WindowsEnv(scenario(str(small_schema)), WINDOWS)
    env.simulator.site.building["battery_action"] = -1
    with pytest.raises(ValueError, match="no battery has an action"):
        SolarPriority(env.present)


@pytest.fixture(scope="module")
def reference(small_schema: Path) -> Reference:
    return WindowsEnv(scenario(str(small_schema)), WINDOWS).reference_of(0)


def priced(reference: Reference, price: np.ndarray, tariff: DemandCharge | None = None) -> Reference:
    """The same year without a demand charge, or with this, at other prices of its one building."""
    return Reference(reference.run, replace(reference.exogenous, price=price[np.newaxis]), reference.sessions, tariff)


def test_with_a_demand_charge_its_peak_hours_are_dear_at_any_price_of_energy(reference: Reference) -> None:
    assert reference.tariff is not None
    hour = reference.exogenous.hour
    found = priced(reference, np.where(hour < 6, 2.0, 1.0), reference.tariff).dear
    np.testing.assert_array_equal(found, np.isin(hour, reference.tariff.peak_hours))


def test_without_one_hours_above_the_mean_price_of_their_year_are_dear(reference: Reference) -> None:
    hour = reference.exogenous.hour
    for level in (1.0, 10.0):
        found = priced(reference, np.where(hour >= 20, 3.0, np.where(hour >= 12, 1.0, 0.9)) * level)
        np.testing.assert_array_equal(found.dear, hour >= 20)


def test_at_one_price_no_hour_is_dearer(reference: Reference) -> None:
    hour = reference.exogenous.hour
    flat = priced(reference, np.full(len(hour), 0.3, dtype=np.float32))
    assert not flat.dear.any()


WINDOW = Window(0, 0, 72)


def test_the_actions_are_those_of_citylearns_agent(small_schema: Path) -> None:
    from citylearn.agents import rbc

    rules = citylearn_rules(scenario(str(small_schema)))
    assert rules
    for name, table in rules.items():
        simulator = CityLearnSimulator(small_schema, with_reward=False)
        agent = getattr(rbc, name)(simulator.env)
        raw = simulator.begin(0, 48, seed=0)
        for _ in range(48):
            (wanted,) = agent.predict([raw.tolist()])
            hour = int(raw[simulator.observation_names.index("hour")])
            np.testing.assert_array_equal(table[hour - 1], wanted)
            raw, _ = simulator.step(np.clip(wanted, simulator.action_low, simulator.action_high))


def test_a_rule_does_the_same_on_both_backends(small_schema: Path) -> None:
    site = scenario(str(small_schema))
    for name, table in citylearn_rules(site).items():
        batch = WindowsEnv(site, [WINDOW])
        (judged,) = batch.episodes(HourlyRule(batch.present, table))
        env = SiteEnv(site, [WINDOW], "sequence")
        (own,) = env.episodes(HourlyRule(env.present, table))
        assert judged.reward == pytest.approx(own.reward, rel=1e-6), name
        env.close()


def test_they_stand_among_the_baselines(small_schema: Path) -> None:
    found = baselines(Task(str(small_schema)), [WINDOW])
    own = [name for name in found if name.startswith(CITYLEARN)]
    assert own
    for name in own:
        assert found[name][0].score != found[UNCONTROLLED][0].score
