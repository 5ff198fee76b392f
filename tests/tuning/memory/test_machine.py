"""Budget of a machine, with and without a card."""

import os

import pytest

from common.units import GIB
from tuning.memory import machine
from tuning.memory.allocation import DEFAULT_CARD_BYTES
from tuning.memory.gpus import Card
from tuning.memory.machine import this_machine
from tuning.memory.planner import CPU


def cards(monkeypatch: pytest.MonkeyPatch, *gib: int) -> None:
    found = tuple(Card(index, "RTX 4060", total * GIB) for index, total in enumerate(gib))
    monkeypatch.setattr(machine, "cards", lambda: found)


def test_a_card_is_used_up_to_what_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    cards(monkeypatch, 16, 16)
    budget, device = this_machine("auto", 0.0)
    assert (budget.gpus, budget.card_bytes, device) == (2, DEFAULT_CARD_BYTES, "RTX 4060")
    assert this_machine("auto", 12.0)[0].card_bytes == 12 * GIB
    assert this_machine("auto", 99.0)[0].card_bytes == 16 * GIB


def test_on_the_cpu_a_card_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    cards(monkeypatch, 16)
    budget, device = this_machine("cpu", 0.0)
    assert (budget.gpus, budget.card_bytes, device) == (0, 0, CPU)
    assert budget.cores == os.cpu_count()
    assert budget.ram_bytes > 0


def test_a_card_that_is_not_here_can_be_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    cards(monkeypatch)
    assert this_machine("auto", 0.0)[0].gpus == 0
    budget, device = this_machine("gpu", 6.0)
    assert (budget.gpus, budget.card_bytes) == (1, 6 * GIB)
    assert "not here" in device
