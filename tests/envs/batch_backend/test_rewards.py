"""CityLearn's own rewards, by hand; `test_kernel.py` compares all of them with CityLearn."""

import json
from dataclasses import replace

import numpy as np
import pytest

from envs.batch_backend import records
from envs.batch_backend.rewards import SchemaReward
from envs.batch_backend.simulator import BatchSimulator
from envs.batch_backend.tables import Tables, Year
from envs.scenarios.schema_shape import REWARDS


def stepped(tables: Tables, name: str, attributes: object = None) -> tuple[np.ndarray, np.ndarray]:
    """Rewards and net consumption of one step of two copies."""
    tables = replace(tables, reward=(name, json.dumps(attributes)))
    simulator = BatchSimulator({0: Year(tables, tables.rows["template"])}, copies=2)
    for copy in range(2):
        simulator.begin(copy, 0, 18 + copy, 10, seed=0)
    reward = SchemaReward(simulator)
    actions = np.zeros((2, simulator.actions))
    reward.before(actions)
    simulator.step(actions)
    return reward.after(), simulator.out.energy[:, :, records.NET_KWH].astype(np.float64)


def test_the_plain_reward_is_the_negative_import(small_tables: Tables) -> None:
    rewards, net = stepped(small_tables, "RewardFunction")
    assert rewards == pytest.approx(-np.maximum(net, 0.0).sum(axis=1), rel=1e-6)
    assert (rewards != 0.0).any()


def test_every_reward_that_is_supported_gives_a_number_for_each_copy(small_tables: Tables) -> None:
    for name in REWARDS:
        rewards, _ = stepped(small_tables, name)
        assert rewards.shape == (2,)
        assert np.isfinite(rewards).all(), name
