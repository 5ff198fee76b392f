"""The batched program that K processes are compared with does K trials' gradient steps."""

from typing import Any

import pytest
import torch

from benchmarks.shared_card import STEPS_OF, Perceptrons

H = {"n_steps": 64, "batch_size": 16, "activation": "tanh", "max_grad_norm": 0.5, "tau": 0.005}


def test_each_of_k_perceptrons_sees_its_own_rows() -> None:
    three, rows = Perceptrons(3, [4, 8, 2], relu=False), torch.randn(3, 5, 4)
    together = three(rows)
    for number in range(3):
        alone = Perceptrons(1, [4, 8, 2], relu=False)
        alone.matrix.data.copy_(three.matrix[number : number + 1].detach())
        torch.testing.assert_close(alone(rows[number : number + 1])[0], together[number])


@pytest.mark.parametrize("algo", list(STEPS_OF))
def test_a_step_moves_all_of_them(algo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    made: list[Any] = []
    begin = Perceptrons.__init__
    monkeypatch.setattr(Perceptrons, "__init__", lambda self, *given: (begin(self, *given), made.append(self))[0])
    step = STEPS_OF[algo](3, 6, 2, H, [8])
    before = [own.matrix.detach().clone() for own in made]
    step()
    for own, was in zip(made, before, strict=True):
        assert own.matrix.isfinite().all()
        assert (own.matrix != was).any(dim=1).all()
