"""PPO and A2C as the registry lists them."""

from search_spaces.a2c import A2C as A2C_SPACE
from search_spaces.ppo import PPO as PPO_SPACE
from tuning.algorithms.memory_terms import Workload
from tuning.algorithms.networks.sizes import Problem
from tuning.algorithms.on_policy.spec import A2C, PPO


def test_each_has_its_own_name_and_space() -> None:
    assert (PPO.name, PPO.space) == ("ppo", PPO_SPACE)
    assert (A2C.name, A2C.space) == ("a2c", A2C_SPACE)


def test_ppo_copies_minibatches_and_a2c_does_not() -> None:
    run, problem = Workload(8, 100_000, 4, 12, gpu=False), Problem(28, 1, 28)
    with_copies, without = ({term.name for term in spec.memory(spec.preset("default"), run, problem)} for spec in (PPO, A2C))
    assert with_copies - without == {"minibatch"}
    assert without <= with_copies
