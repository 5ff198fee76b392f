"""What a trial may rely on, whichever algorithm it trains."""

from tests.tuning.algorithms.match import MatchVectorEnv
from tests.tuning.algorithms.toy_algorithm import ToyTrainer
from tuning.algorithms.sac.replay_buffer import ReplayBuffer
from tuning.algorithms.trainer import ReplayRows, Setup


def toy() -> ToyTrainer:
    return ToyTrainer(Setup({"radius": 0.5}, MatchVectorEnv, most_envs=4, steps=1024, seed=1, gpu=False))


def test_one_without_rllib_forgets_transitions_and_sees_the_whole_site_by_default() -> None:
    trainer = toy()
    assert trainer.replay is None
    assert trainer.view is None


def test_a_replay_buffer_is_stored_by_its_rows() -> None:
    buffer: ReplayRows = ReplayBuffer(8, 2, 3, 1, 0.9)
    assert (buffer.rows, buffer.oldest_row) == (0, 0)
    assert buffer.rows_per_file >= 1
