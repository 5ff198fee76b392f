"""A2C's one gradient step and its optimizers."""

from typing import Any

import numpy as np
import pytest
import torch

from tests.tuning.algorithms.on_policy.small import built, watched
from tuning.algorithms.on_policy.batch import Batch

pytestmark = pytest.mark.usefixtures("small_ray")


@pytest.mark.parametrize("chunk", [1, 30, 128, 1000])
def test_a2cs_batch_size_does_not_change_the_gradient(chunk: int) -> None:
    gradients = []
    for batch_size in (chunk, 10_000):
        with built("a2c", batch_size=batch_size) as trained:
            sizes: list[int] = []
            loss = trained.learner.loss

            def noted(batch: Batch, *args: Any, loss: Any = loss, sizes: list[int] = sizes) -> Any:
                sizes.append(len(batch))
                return loss(batch, *args)

            trained.learner.loss = noted
            seen = watched(trained)
            trained.algorithm.train()
            assert len(seen) == 1
            assert max(sizes) <= batch_size
            gradients.append(seen[0]["gradients"])
    for one, other in zip(*gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-6)


def test_a2c_has_the_optimizer_of_its_name() -> None:
    for name, kind in (("rmsprop", torch.optim.RMSprop), ("adam", torch.optim.Adam)):
        with built("a2c", optimizer=name) as trained:
            assert type(trained.learner.optimizer) is kind
