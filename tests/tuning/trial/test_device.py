"""Where a trial learns; what needs a card is in `tests/tuning/test_gpu.py`."""

from types import SimpleNamespace
from typing import Any

import pytest

from tuning.memory.gpus import Load
from tuning.trial.device import CPU, Device


def test_the_cpu_has_no_gpu_memory() -> None:
    CPU.reset_peak()
    assert not CPU.is_gpu
    assert CPU.memory() == (0, 0, 0)


@pytest.mark.parametrize(
    ("limit", "ids", "available", "expected"),
    [
        (0, ["3"], True, None),  # granted no GPU memory
        (2**30, [], True, None),  # given no card by Ray
        (2**30, ["3"], False, None),  # a card that torch cannot use
        (2**30, ["3"], True, (3, 2**30, 2**28)),
    ],
)
def test_a_card_is_used_only_if_all_agree(
    monkeypatch: pytest.MonkeyPatch, limit: int, ids: list[str], available: bool, expected: Any
) -> None:
    monkeypatch.setattr("ray.get_gpu_ids", lambda: ids)
    monkeypatch.setattr("torch.cuda.is_available", lambda: available)
    held: list[tuple[int, int, int]] = []

    def take_card(card: int, vram_limit: int, context_bytes: int) -> Device:
        held.append((card, vram_limit, context_bytes))
        return Device("cuda", card)

    monkeypatch.setattr(Device, "take_card", take_card)
    device = Device.take_granted(limit, 2**28)
    assert device == (Device("cuda", 3) if expected else CPU)
    assert held == ([expected] if expected else [])


def test_a_process_is_held_to_its_grant_without_the_context(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[tuple[float, int]] = []
    monkeypatch.setattr("torch.cuda.get_device_properties", lambda card: SimpleNamespace(total_memory=8 * 2**30))
    monkeypatch.setattr("torch.cuda.set_per_process_memory_fraction", lambda part, card: held.append((part, card)))
    for name, nbytes in (("memory_allocated", 1), ("max_memory_allocated", 2), ("max_memory_reserved", 2**28)):
        monkeypatch.setattr(f"torch.cuda.{name}", lambda nbytes=nbytes: nbytes)
    own: list[int | None] = [None]
    monkeypatch.setattr("tuning.trial.device.loads", lambda: 4 * (Load(0, None, None, None, own[0]),))
    monkeypatch.setattr("torch.cuda.memory_reserved", lambda: 2**27)
    device = Device.take_card(3, 3 * 2**29, 2**29)
    assert held == [(1 / 8, 0)]
    assert device.memory() == (1, 2, 2**28 + 2**29)
    # What the driver tells goes before what was expected.
    own[0] = 2**27 + 2**26
    assert device.memory() == (1, 2, 2**28 + 2**26)
    with pytest.raises(MemoryError, match="CUDA's context takes 536,870,912 B, more than the 536,870,912 B"):
        Device.take_card(3, 2**29, 2**29)
