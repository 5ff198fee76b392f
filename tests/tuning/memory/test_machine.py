"""Budget of a machine, with and without a card."""

import os
import sys
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

import pytest

from common.errors import UserError
from common.units import GIB
from tuning.memory import machine
from tuning.memory.allocation import DEFAULT_CARD_BYTES, Budget
from tuning.memory.gpus import Card
from tuning.memory.machine import PROBE_SECONDS, VisibleCard, this_machine
from tuning.memory.planner import CPU
from tuning.memory.prediction import ASSUMED, CardBaseline

BASELINE = CardBaseline(600, 60, 800, "measured on this card")


def cards(monkeypatch: pytest.MonkeyPatch, *gib: int) -> None:
    monkeypatch.setattr(machine, "measured_apart", lambda: BASELINE)
    found = tuple(Card(index, "RTX 4060", total * GIB) for index, total in enumerate(gib))
    monkeypatch.setattr(machine, "cards", lambda: found)


def test_a_card_is_used_up_to_what_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    cards(monkeypatch, 16, 16)
    budget, device = this_machine("auto", 0.0)
    assert (budget.gpus, budget.card_bytes, device) == (2, DEFAULT_CARD_BYTES, "RTX 4060")
    assert budget.baseline == BASELINE
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


class Ray:
    """Substitute for a cluster: cores, memory in GiB and cards of each node, by id."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **nodes: tuple[int, int, int]) -> None:
        self.dead, self.leaving, self.now = set[str](), set[str](), 0.0
        self.cards: dict[str, VisibleCard | None] = {}
        self._nodes = nodes
        self.told, self.requests = list[str](), 0
        self.joining: dict[str, tuple[float, tuple[int, int, int]]] = {}  # when, and what
        state = SimpleNamespace(state=SimpleNamespace(get_draining_nodes=lambda: dict.fromkeys(self.leaving, 0)))
        ray = SimpleNamespace(nodes=self.nodes, _private=SimpleNamespace(state=state))
        monkeypatch.setitem(sys.modules, "ray", ray)
        monkeypatch.setitem(sys.modules, "ray._private", ray._private)
        monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=3 * GIB))
        monkeypatch.setattr(machine, "time", SimpleNamespace(monotonic=lambda: self.now, sleep=self.sleep))
        monkeypatch.setattr(machine, "request_node", self.request)

    def nodes(self) -> list[dict[str, Any]]:
        found = []
        for name, (cores, gib, gpus) in self._nodes.items():
            cards = {"GPU": float(gpus), "accelerator_type:X": 1.0} if gpus else {}
            resources = {"CPU": float(cores), "memory": float(gib * GIB), **cards}
            found.append({"NodeID": name, "Alive": name not in self.dead, "Resources": resources})
        return found

    def look(self, ids: Collection[str]) -> dict[str, VisibleCard | None]:
        return {name: card for name, card in self.cards.items() if name in ids}

    def machine(self, given: float = 0.0) -> Any:
        return machine.machine(given, self.look, self.told.append)

    def request(self) -> object:
        self.requests += 1
        return object()

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self._nodes |= {name: of for name, (when, of) in self.joining.items() if when <= self.now}


def test_each_node_has_its_own_card_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = Ray(monkeypatch, head=(0, 64, 0), a=(4, 16, 1), b=(8, 32, 2))
    ray.cards = {"a": VisibleCard("RTX 4060", 8 * GIB, ASSUMED), "b": VisibleCard("A100", 40 * GIB, ASSUMED)}
    kinds, line = ray.machine(24.0)
    assert line == ""
    assert [kind.budget for kind in kinds] == [Budget(1, 8 * GIB, 16 * GIB, 4), Budget(2, 24 * GIB, 32 * GIB, 8)]
    assert [kind.key.device for kind in kinds] == ["RTX 4060", "A100"]
    assert kinds[0].nodes[0].marks == {"accelerator_type:X"}


def test_of_a_single_machine_the_free_memory_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = Ray(monkeypatch, a=(4, 16, 0))
    (kind,), line = ray.machine()
    assert kind.budget == Budget(0, 0, 3 * GIB, 4)
    assert line == "no GPU: trials learn on the CPU"
    ray = Ray(monkeypatch, a=(4, 16, 0), b=(4, 8, 0))
    assert ray.machine()[0][0].budget == Budget(0, 0, 16 * GIB, 8)


def test_a_card_that_trials_are_not_to_use_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    ray, asked = Ray(monkeypatch, a=(4, 16, 1)), list[Any]()
    (kind,), line = machine.machine(0.0, lambda ids: asked.extend(ids) or {}, device="cpu")
    assert (kind.budget.gpus, line, asked) == (0, "", [])
    assert [node.gpus for node in machine.cluster(0.0, ray.look, "cpu").nodes] == [0]


def test_a_card_that_has_to_be_there_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="--device gpu: there is no card that Ray and torch can use"):
        machine.machine(0.0, Ray(monkeypatch, a=(4, 16, 0)).look, device="gpu")
    ray = Ray(monkeypatch, a=(4, 16, 1))
    ray.cards = {"a": VisibleCard("GT 710", 2 * GIB, None)}
    with pytest.raises(UserError, match="there is no GT 710 that Ray and torch can use"):
        machine.machine(0.0, ray.look, device="gpu")


def test_cards_that_torch_cannot_use_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = Ray(monkeypatch, a=(4, 16, 1), b=(4, 8, 1))
    old = VisibleCard("GT 710", 2 * GIB, None)
    ray.cards = {"a": old, "b": None}
    kinds, line = ray.machine()
    assert [kind.budget.gpus for kind in kinds] == [0]
    assert "torch cannot use the GT 710" in line
    ray.cards = {"a": old, "b": VisibleCard("RTX 4060", 8 * GIB, ASSUMED)}
    kinds, line = ray.machine()
    assert [[node.id for node in kind.nodes] for kind in kinds] == [["b"]]
    assert line == ""


def test_a_card_that_others_have_taken_is_waited_for_a_while_if_there_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = Ray(monkeypatch, a=(4, 16, 1), b=(4, 8, 1))
    ray.cards = {"a": VisibleCard("RTX 4060", 8 * GIB, ASSUMED)}
    kinds, _ = ray.machine()
    assert [node.id for node in kinds[0].nodes] == ["a"]
    assert PROBE_SECONDS < ray.now < PROBE_SECONDS + 1.0


def test_nothing_is_planned_from_a_head_without_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = Ray(monkeypatch, head=(0, 64, 0))
    ray.joining = {"a": (300.0, (4, 16, 0))}
    (kind,), _ = ray.machine()
    assert [node.id for node in kind.nodes] == ["a"]
    # A node was requested once, and the user knows what is waited for.
    assert ray.requests == 1
    assert ray.told == ["no node of the cluster has a core for trials; waiting for one that has"]


def test_a_wait_for_cards_that_others_have_taken_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = Ray(monkeypatch, head=(0, 64, 0), a=(4, 16, 1))
    ray.joining = {"b": (200.0, (4, 16, 1))}
    ray.cards = {"b": VisibleCard("RTX 4060", 8 * GIB, ASSUMED)}
    (kind,), _ = ray.machine()
    assert [node.id for node in kind.nodes] == ["b"]
    assert ray.told == ["nodes with cards that do not answer, as other programs take them: 1; waiting for one"]
    assert ray.requests == 0


def test_a_search_begins_on_nodes_that_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = Ray(monkeypatch, a=(4, 16, 0), b=(4, 8, 0), c=(4, 32, 0))
    ray.leaving, ray.dead = {"b"}, {"c"}
    (kind,), _ = ray.machine()
    assert [node.id for node in kind.nodes] == ["a"]
    found = machine.cluster(0.0, ray.look)
    assert ([node.id for node in found.nodes], found.leaving) == (["a", "b"], {"b"})
