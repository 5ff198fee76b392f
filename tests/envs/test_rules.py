"""The solar-priority rule, hour by hour."""

from pathlib import Path

import numpy as np
import pytest

from envs.evaluate import evaluate, score
from envs.rules import SolarPriority
from envs.scenario import Window, scenario
from envs.vector_env import WindowsEnv

WINDOWS = (Window(0, 0, 168), Window(0, 500, 168))


@pytest.mark.parametrize("peak_hours", [True, False])
def test_a_surplus_is_stored_and_given_back_where_the_site_imports(small_schema: Path, peak_hours: bool) -> None:
    env = WindowsEnv(scenario(str(small_schema)), WINDOWS)
    rule, simulator = SolarPriority(env.simulator, peak_hours), env.simulator
    power = simulator.site.battery["nominal_power"][0]
    seen = []

    def policy(observations: np.ndarray) -> np.ndarray:
        actions = rule(observations)
        np.testing.assert_array_equal(actions[:, 1:], simulator.uncontrolled_actions()[:, 1:])
        seen.append((simulator.uncontrolled_net_kwh, simulator.peak_hour, actions[:, 0]))
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
    (found,) = evaluations = evaluate(env, SolarPriority(env.simulator))
    assert score(evaluations) > 0.01
    assert found.kpis.co2_kg < found.uncontrolled.co2_kg
    assert found.kpis.ev_served == pytest.approx(found.uncontrolled.ev_served, abs=1e-6)


def test_without_a_battery_there_is_no_rule(small_schema: Path) -> None:
    env = WindowsEnv(scenario(str(small_schema)), WINDOWS)
    env.simulator.site.building["battery_action"] = -1
    with pytest.raises(ValueError, match="no battery has an action"):
        SolarPriority(env.simulator)
