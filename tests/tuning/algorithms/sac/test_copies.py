"""How many copies SAC steps."""

import pytest

from tests.tuning.algorithms.sac.sac_small import built
from tuning.algorithms.sac.copies import copies


def test_copies_divide_the_transitions_between_rounds() -> None:
    given = ((64, 64), (64, 100), (64, 48), (6, 4), (1, 64), (7, 4))
    found = [copies({"train_freq": train_freq}, most) for train_freq, most in given]
    assert found == [64, 64, 32, 3, 1, 1]


@pytest.mark.usefixtures("small_ray")
def test_a_trainer_and_its_runner_have_as_many() -> None:
    for train_freq in (1, 6, 8):
        with built(train_freq=train_freq) as trainer:
            assert trainer.num_envs == trainer.runner.num_envs == copies({"train_freq": train_freq}, 4)
