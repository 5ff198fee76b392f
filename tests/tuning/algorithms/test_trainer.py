"""What a trial may rely on, whichever algorithm it trains."""

import pickle

import numpy as np
import pytest

from tests.tuning.algorithms.match import MatchVectorEnv
from tests.tuning.algorithms.toy_algorithm import ToyTrainer
from tuning.algorithms.sac.replay_buffer import ReplayBuffer
from tuning.algorithms.trainer import ReplayRows, Setup, Trainer
from tuning.runtime.stopwatch import Stopwatch


class SavedVectorEnv(MatchVectorEnv):
    """The task with a state that can be saved."""

    def get_state(self) -> dict[str, object]:
        return {"random": self.np_random.bit_generator.state, "steps": self.steps.copy(), "seen": self.seen.copy()}

    def set_state(self, state: dict[str, object]) -> None:
        self.np_random.bit_generator.state = state["random"]
        self.steps, self.seen = state["steps"].copy(), state["seen"].copy()  # type: ignore[attr-defined]


def toy() -> ToyTrainer:
    return ToyTrainer(Setup({"radius": 0.5}, SavedVectorEnv, most_envs=4, steps=1024, seed=1, gpu=False))


def test_a_trainer_says_how_each_of_its_duties_is_done() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Trainer()  # type: ignore[abstract]


def test_one_without_rllib_forgets_transitions_and_sees_the_whole_site_by_default() -> None:
    trainer = toy()
    assert trainer.replay is None
    assert trainer.view is None


def test_it_goes_on_from_a_pickled_state_number_by_number() -> None:
    first, second = toy(), toy()
    for _ in range(3):
        first.update()
    second.set_state(pickle.loads(pickle.dumps(first.get_state())), [])
    for _ in range(5):
        assert first.update() == second.update()
    observations = np.zeros((2, 3), np.float32)
    np.testing.assert_array_equal(first.policy()(observations), second.policy()(observations))


def test_seconds_of_stepping_go_to_the_stopwatch_that_watches() -> None:
    trainer, environment = toy(), Stopwatch()
    trainer.watch(environment, Stopwatch())
    trainer.update()
    assert environment.seconds > 0.0


def test_a_replay_buffer_is_stored_by_its_rows() -> None:
    buffer: ReplayRows = ReplayBuffer(8, 2, 3, 1, 0.9)
    assert (buffer.rows, buffer.oldest_row) == (0, 0)
    assert buffer.rows_per_file >= 1
