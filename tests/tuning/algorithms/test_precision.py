"""What depends on the device is done as asked, or refused."""

from typing import Any

import pytest
import torch

from tests.tuning.algorithms import recorder
from tests.tuning.algorithms.match import built
from tuning.algorithms import precision
from tuning.algorithms.networks import layers, shared_network
from tuning.algorithms.precision import Replayed, check_device
from tuning.algorithms.rllib_base import ArrayLearner

pytestmark = pytest.mark.usefixtures("small_ray")


def test_what_only_a_card_can_do_is_refused_without_one() -> None:
    with pytest.raises(ValueError, match="pin_memory=true: it needs a GPU"):
        check_device({"pin_memory": True}, gpu=False)
    check_device({"pin_memory": True}, gpu=True)
    check_device({"pin_memory": False}, gpu=False)


def test_what_is_replayed_does_what_it_did_once_for_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "record", recorder.record)
    total, calls = torch.zeros(2), list[int]()

    def add(rows: torch.Tensor) -> torch.Tensor:
        calls.append(len(rows))
        total.add_(rows.sum(dim=0))
        return rows.mean() + total.sum()

    replayed, expected = Replayed(add), torch.zeros(2)
    for count in (3, 3, 3, 5, 3, 5, 5):
        rows = torch.randn(count, 2)
        expected = expected + rows.sum(dim=0)
        torch.testing.assert_close(replayed(rows), rows.mean() + expected.sum())
        torch.testing.assert_close(total, expected)
    # Once as it is and once to record, for each number of rows.
    assert calls == [3, 3, 5, 5]
    for count in (4, 4):
        rows = torch.ones(count, 2)
        expected = expected + count
        torch.testing.assert_close(replayed(rows), 1.0 + expected.sum())
    # Fewer rows take the first ones of the same room.
    (five,), (four,) = replayed._recorded[5,][0], replayed._recorded[4,][0]
    assert four.data_ptr() == five.data_ptr() != replayed._recorded[3,][0][0].data_ptr()
    replayed.forget()
    replayed(torch.zeros(3, 2))
    assert calls == [3, 3, 5, 5, 4, 4, 3]


# What each algorithm's recorded steps read that changes, wait for, or do in another way.
RECORDED: list[tuple[str, dict[str, Any]]] = [
    ("ppo", {"learning_rate_schedule": "linear", "learning_rate_final": 0.1, "ent_coef": 0.01}),
    ("ppo", {"kl_target": 0.001, "ent_coef": 0.1, "ent_coef_schedule": "linear", "ent_coef_final": 0.0}),
    ("ppo", {"target_kl": 0.01, "clip_range_vf": 0.2, "chargers": 2, "n_steps": 100}),
    ("ppo", {"discrete": True}),
    ("ppo", {"bf16": True, "state_dependent_std": True}),
    ("a2c", {"ent_coef": 0.01, "steps": 4096}),
    ("sac", {"learning_rate_schedule": "cosine", "learning_rate_final": 0.1}),
    ("sac", {"ent_coef": 0.1, "chargers": 2, "max_grad_norm": 0.5}),
    ("sac", {"taught": True}),
]


def check_recorded(algo: str, given: dict[str, Any], gpu: bool) -> None:
    found = []
    for on in (False, True):
        with built(algo, cuda_graphs=on, gpu=gpu, **given) as trained:
            trained.learner._written_out = None  # as on a card
            means = [trained.algorithm.train() and dict(trained.learner.means) for _ in range(5)]
            found.append((trained.learner.network.state_dict(), means))
            assert any(each._recorded for each in trained.learner._replayed) is on
    (plain, told), (recorded, told_too) = found
    for name, numbers in plain.items():
        torch.testing.assert_close(recorded[name], numbers, rtol=1e-3, atol=1e-5, msg=name)
    for one, other in zip(told, told_too, strict=True):
        assert one == pytest.approx(other, rel=1e-3, abs=1e-5, nan_ok=True)


@pytest.mark.parametrize(("algo", "given"), RECORDED)
def test_learning_by_recorded_steps_is_learning(algo: str, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "record", recorder.record)
    monkeypatch.setattr(ArrayLearner, "records", property(lambda learner: bool(learner.h["cuda_graphs"])))
    for module in (layers, shared_network):
        monkeypatch.setattr(module, "shared_network", shared_network.as_layers)
    check_recorded(algo, given, gpu=False)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no card")
@pytest.mark.parametrize(("algo", "given"), RECORDED)
def test_so_it_is_on_a_card(algo: str, given: dict[str, Any]) -> None:
    check_recorded(algo, given, gpu=True)
