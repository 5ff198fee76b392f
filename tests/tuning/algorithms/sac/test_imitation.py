"""SAC begins as what a teacher shows: its modes, its critics and its replay buffer."""

import numpy as np
import pytest
import torch

from tests.tuning.algorithms.imitation.shown import answers
from tests.tuning.algorithms.match import mean_return
from tests.tuning.algorithms.sac.sac_small import built
from tuning.algorithms.sac.imitation import LOG_STD, WITHIN

pytestmark = pytest.mark.usefixtures("small_ray")


def test_a_copy_does_what_was_shown_and_tells_right_from_wrong() -> None:
    parts = [answers(runs=4, seed=seed) for seed in range(10)]
    shown = parts[0]
    with built(gamma=0.0, buffer_size=8000) as trained:
        assert mean_return(trained) < 0.8
        trained.begin_as(parts)
        assert mean_return(trained) > 0.9
        network = trained.learner.network
        seen = torch.from_numpy(trained.runner.preprocess()(shown.observations[:-1][shown.taken]))
        _, log_std = network.parameters_of_distribution(seen)
        assert (log_std == min(LOG_STD, 0.0)).all()
        right = torch.from_numpy(shown.labels[shown.taken])
        wrong = torch.where(right > 0.0, right - 0.8, right + 0.8)
        values = [network.values(seen, actions, least=True).mean() for actions in (right, wrong)]
        assert values[0] > values[1] + 0.2
        assert np.abs(right.numpy()).max() > WITHIN  # labels at the ends of the range are among them


def test_the_buffer_begins_with_the_runs() -> None:
    shown = answers(steps=12, runs=3)
    with built() as trained:
        trained.begin_as([shown])
        buffer = trained.runner.buffer
        assert buffer.transitions == int(shown.taken.sum())
        sample = buffer.sample(400)
        wanted = {tuple(row) for row in shown.observations[:-1][shown.taken].tolist()}
        assert {tuple(row) for row in sample.observations.tolist()} == wanted
        index = np.argmax((shown.observations[:-1][shown.taken][:, None] == sample.observations).all(axis=2), axis=0)
        np.testing.assert_allclose(sample.actions, shown.executed[shown.taken][index], atol=1e-6)
        np.testing.assert_allclose(sample.rewards, shown.rewards[shown.taken][index], atol=1e-6)
        following = shown.observations[1:][shown.taken][index]
        np.testing.assert_array_equal(sample.next_observations, following)
        # It goes on with its own transitions.
        before = buffer.transitions
        trained.update()
        assert buffer.transitions > before


def test_a_seed_gives_the_same_copy() -> None:
    states = []
    for _ in range(2):
        with built() as trained:
            trained.begin_as([answers(runs=4)])
            trained.update()
            states.append(torch.cat([p.detach().flatten() for p in trained.learner.network.parameters()]))
    assert torch.equal(states[0], states[1])
