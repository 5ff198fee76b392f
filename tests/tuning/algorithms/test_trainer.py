"""What a trial may rely on, whichever algorithm it trains."""

from tests.tuning.algorithms.match import MatchVectorEnv
from tests.tuning.algorithms.toy_algorithm import ToyTrainer
from tuning.algorithms.trainer import Setup


def test_one_without_rllib_forgets_transitions_and_sees_the_whole_site_by_default() -> None:
    trainer = ToyTrainer(Setup({"radius": 0.5}, MatchVectorEnv, most_envs=4, steps=1024, seed=1, gpu=False))
    assert trainer.replay is None
    assert trainer.view is None
