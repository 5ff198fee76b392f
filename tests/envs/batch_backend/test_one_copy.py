"""One copy of the batch simulator is a simulator of its own; `tests/envs/test_simulator.py` has the common rules."""

import numpy as np
import pytest

from envs.batch_backend.arrays import Year
from envs.batch_backend.one_copy import OneCopy
from envs.batch_backend.rewards import SchemaReward
from envs.batch_backend.simulator import BatchSimulator
from envs.batch_backend.tables import Tables
from envs.current_hour import scaled
from envs.objective.citylearn_ratios import RATIOS


def test_it_steps_as_a_copy_of_a_batch_does(small_tables: Tables) -> None:
    template = small_tables.rows["template"]
    own = OneCopy(small_tables, template, with_reward=True)
    batch = BatchSimulator({0: Year(small_tables, template)}, copies=2)
    reward = SchemaReward(batch)
    observation = own.begin(30, 40, seed=2, charge=0.3)
    for copy in range(2):
        batch.begin(copy, 0, 30, 40, seed=2, charge=0.3)
    assert np.array_equal(observation, batch.observation[1])
    rng = np.random.default_rng(0)
    for _ in range(40):
        action = rng.uniform(own.action_low, own.action_high)
        given = np.tile(scaled(action, own.action_low, own.action_high), (2, 1))
        reward.before(given)
        batch.step(given)
        observation, value = own.step(action)
        assert np.array_equal(observation, batch.observation[1])
        assert value == reward.after()[1]


def test_without_the_schemas_reward_it_is_zero(small_tables: Tables) -> None:
    simulator = OneCopy(small_tables, small_tables.rows["template"])
    simulator.begin(0, 5, seed=0)
    assert simulator.step(simulator.action_high)[1] == 0.0


def test_it_has_the_ratios_of_citylearn(small_tables: Tables) -> None:
    simulator = OneCopy(small_tables, small_tables.rows["template"])
    simulator.begin(0, 30, seed=0)
    for _ in range(30):
        simulator.step(simulator.action_high)
    assert set(RATIOS.values()) == simulator.citylearn_ratios().keys()


@pytest.mark.parametrize("beyond", [10.0, -10.0])
def test_actions_outside_their_range_are_clipped(small_tables: Tables, beyond: float) -> None:
    simulator = OneCopy(small_tables, small_tables.rows["template"])
    limit = simulator.action_high if beyond > 0.0 else simulator.action_low
    nets = []
    for actions in (limit, limit + beyond):
        simulator.begin(0, 5, seed=0, charge=0.5)
        simulator.step(actions)
        nets.append(simulator.net_kwh(0))
    assert np.array_equal(*nets)
