"""The reward that takes no time."""

from envs.citylearn_backend.no_reward import NoReward


def test_it_is_zero_for_the_one_agent_and_needs_no_observation() -> None:
    reward = NoReward(None)
    assert reward.calculate([]) == [0.0]
    assert NoReward.required_observation_names == ()
