"""With two objectives the share of the reward is searched beside the algorithm's own hyperparameters."""

from search_spaces import SearchSpace
from search_spaces.reward_share import ENDS, NAME, with_reward_share
from tuning.algorithms.registry import algorithm


def test_the_share_is_one_more_hyperparameter_with_the_users_share_as_its_default() -> None:
    own: SearchSpace = algorithm("ppo").space
    space = with_reward_share(own, 0.3)
    assert space.parameters[:-1] == own.parameters
    assert space.complete({})[NAME] == 0.3
    (low, high), drawn = ENDS, space.distributions({})[NAME]
    assert (drawn.low, drawn.high) == (low, high) == (0.0, 1.0)  # type: ignore[attr-defined]
