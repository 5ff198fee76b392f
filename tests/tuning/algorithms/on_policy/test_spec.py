"""PPO and A2C as the registry lists them."""

from search_spaces.on_policy import A2C as A2C_SPACE
from search_spaces.on_policy import PPO as PPO_SPACE
from tuning.algorithms.on_policy.spec import A2C, PPO


def test_each_has_its_own_name_and_space() -> None:
    assert (PPO.name, PPO.space) == ("ppo", PPO_SPACE)
    assert (A2C.name, A2C.space) == ("a2c", A2C_SPACE)
