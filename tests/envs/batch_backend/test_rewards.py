"""CityLearn's own rewards; `test_kernel.py` compares all of them with CityLearn."""

from dataclasses import replace

import numpy as np

from envs.batch_backend.rewards import SchemaReward
from envs.batch_backend.simulator import BatchSimulator
from envs.batch_backend.tables import Tables, Year
from envs.scenarios.schema_shape import REWARDS


def test_every_reward_that_is_supported_gives_a_number_for_each_copy(small_tables: Tables) -> None:
    for name in REWARDS:
        tables = replace(small_tables, reward=(name, "null"))
        simulator = BatchSimulator({0: Year(tables, tables.rows["template"])}, copies=2)
        for copy in range(2):
            simulator.begin(copy, 0, 18 + copy, 10, seed=0)
        rewards = SchemaReward(simulator).step(np.zeros((2, simulator.actions)))
        assert rewards.shape == (2,)
        assert np.isfinite(rewards).all(), name
