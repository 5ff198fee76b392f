"""What a process takes on a card before it has data. What a real card says is in `tests/tuning/test_gpu.py`."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from common.units import MIB
from tuning.memory import baseline
from tuning.memory.baseline import measured, measured_apart
from tuning.memory.gpus import Load
from tuning.memory.prediction import ASSUMED


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A card that torch can use: 300 MiB are taken by others, 700 by a process that has taken a step."""
    card = SimpleNamespace(steps=[], error=None, tells=True)

    def step(device: str) -> None:
        card.steps.append(device)
        if device == "cuda" and card.error:
            raise card.error

    def loads() -> tuple[Load, ...]:
        own = 700 * MIB if "cuda" in card.steps else 0
        return (Load(300 * MIB + own, None, None, None, (own or None) if card.tells else None),)

    for name, found in {
        "is_available": True,
        "memory_reserved": 80 * MIB,
        "memory_allocated": 64 * MIB,
        "synchronize": None,
    }.items():
        monkeypatch.setattr(torch.cuda, name, lambda found=found: found)
    monkeypatch.setattr(baseline, "_step", step)
    monkeypatch.setattr(baseline, "loads", loads)
    monkeypatch.setattr(baseline.gc, "collect", lambda: 0)  # it takes a second
    return card


@pytest.mark.parametrize("tells", [True, False])
def test_the_context_is_what_torchs_allocator_does_not_count(card: SimpleNamespace, tells: bool) -> None:
    card.tells = tells
    found = measured(0)
    assert found
    assert (found.context, found.workspace) == (620 * MIB, 64 * MIB)
    assert found.host >= 0


@pytest.mark.parametrize("change", [-900 * MIB, 10_000 * MIB])
def test_what_others_take_meanwhile_is_no_context(card: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, change: int) -> None:
    card.tells = False
    loads = baseline.loads

    def changed() -> tuple[Load, ...]:
        (load,) = loads()
        return (replace(load, used_bytes=load.used_bytes + change),) if "cuda" in card.steps else (load,)

    monkeypatch.setattr(baseline, "loads", changed)
    found = measured(0)
    assert found
    assert found.context == ASSUMED.context
    assert "but for the context" in found.source


def test_a_card_that_torch_sees_and_cannot_use_has_none(card: SimpleNamespace) -> None:
    card.error = RuntimeError("CUDA error: no kernel image is available for execution on the device")
    assert measured(0) is None


def test_a_full_card_can_be_used_once_there_is_room(card: SimpleNamespace) -> None:
    card.error = torch.OutOfMemoryError("CUDA out of memory")
    found = measured(0)
    assert found
    assert (found.context, found.source) == (ASSUMED.context, "assumed, as the card is full")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_without_a_card_there_is_none() -> None:
    assert measured(0) is None


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_without_a_card_another_process_finds_none_either() -> None:
    assert measured_apart() is None


def test_the_step_runs_where_it_is_told() -> None:
    baseline._step("cpu")
