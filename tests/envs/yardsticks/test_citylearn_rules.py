"""CityLearn's controllers act as CityLearn has them act."""

from pathlib import Path

import numpy as np
import pytest

from envs.citylearn_backend.simulator import CityLearnSimulator
from envs.environments.site_env import SiteEnv
from envs.environments.vector_env import WindowsEnv
from envs.scenarios.scenario import Window, scenario
from envs.task import Task
from envs.yardsticks.baselines import CITYLEARN, UNCONTROLLED, baselines
from envs.yardsticks.citylearn_rules import HourlyRule, citylearn_rules

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
