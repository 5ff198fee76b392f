"""From the predicted memory of a trial to what Ray grants it, which is also its limit; and the kinds of nodes for it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from common.units import GIB, MIB
from tuning.algorithms.memory import Place
from tuning.memory.prediction import ASSUMED, CardBaseline, Prediction, size

DEFAULT_CARD_BYTES = 8 * GIB  # budget of a card that has at least that
SHARES = 10_000  # Ray counts shares of a GPU in ten-thousandths

# A process is kept for the next trial if that is granted the same; a new one takes ten seconds to get ready. Nearly all trials
# of a search on the CPU fall into one or two of these steps. Shares of a card are finer, because cards are scarce.
RAM_STEP_BYTES = 512 * MIB
VRAM_STEPS = 256  # of a card's budget
# What a trial may take above its prediction before it is stopped; granted to it from the start.
RAM_HEADROOM = 1.15
VRAM_HEADROOM = 1.1


@dataclass(frozen=True)
class Budget:
    """What all trials of a machine, or of the nodes of a kind, may take together."""

    gpus: int
    card_bytes: int  # GPU memory of each card that trials may take; 0 without a card
    ram_bytes: int  # host memory of the machine, of nodes that of the largest
    cores: int
    baseline: CardBaseline = ASSUMED  # of a process on its cards

    def excess(self, prediction: Prediction) -> int:
        """Bytes by which a trial alone on the machine exceeds the budget: above 0 it cannot run, below 0 that much is free."""
        vram = vram_need(prediction) - self.card_bytes if self.gpus else -self.ram_bytes
        return max(vram, ram_grant(prediction) - self.ram_bytes)

    def why_not(self, prediction: Prediction) -> str:
        """Which memory is exceeded and what takes most of it, for a prediction with an excess."""
        place: Place = "vram" if self.gpus and vram_need(prediction) > self.card_bytes else "ram"
        kind, budget = ("GPU memory", self.card_bytes) if place == "vram" else ("memory", self.ram_bytes)
        most = prediction.largest(place)
        return (
            f"does not fit: it would take {size(prediction.nbytes(place))} of {size(budget)} of {kind}, "
            f"{size(most.nbytes)} of them for the {most.name} ({most.formula})"
            + (f"; lower {most.lever}" if most.lever else "")
        )


@dataclass(frozen=True)
class Grant:
    """What Ray reserves for a trial beside a core, and the trial's limits."""

    gpu_share: float  # of a card; 0 for a trial on the CPU
    vram_bytes: int  # GPU memory, CUDA's context included; 0 likewise
    ram_bytes: int
    context_bytes: int = 0  # GPU memory that CUDA's context is expected to take

    @property
    def bundle(self) -> dict[str, float]:
        """What a placement group of Ray asks for."""
        gpu = {"GPU": self.gpu_share} if self.gpu_share else {}
        return {"CPU": 1.0, "memory": float(self.ram_bytes), **gpu}


def ram_grant(prediction: Prediction) -> int:
    """Host memory that is granted for a prediction, bytes: with headroom, in whole steps."""
    return math.ceil(prediction.ram * RAM_HEADROOM / RAM_STEP_BYTES) * RAM_STEP_BYTES


def vram_need(prediction: Prediction) -> int:
    """GPU memory that a trial needs room for, bytes: with headroom."""
    return math.ceil(prediction.vram * VRAM_HEADROOM)


def grant(prediction: Prediction, budget: Budget, alone: bool = False) -> Grant:
    """What a trial that fits is granted."""
    ram = budget.ram_bytes if alone else ram_grant(prediction)
    if not budget.gpus:
        return Grant(0.0, 0, ram)
    steps = VRAM_STEPS if alone else min(VRAM_STEPS, math.ceil(vram_need(prediction) * VRAM_STEPS / budget.card_bytes))
    # Rounded down to what Ray counts: 256 steps rounded up are more than a card.
    share = math.floor(steps * SHARES / VRAM_STEPS) / SHARES
    return Grant(share, steps * budget.card_bytes // VRAM_STEPS, ram, budget.baseline.context)


def room(prediction: Prediction, budget: Budget) -> int:
    """Trials like this one that fit at once."""
    bounds = [budget.cores, budget.ram_bytes // ram_grant(prediction)]
    if budget.gpus:
        is_larger = vram_need(prediction) > budget.card_bytes
        bounds.append(0 if is_larger else budget.gpus * int(1.0 / grant(prediction, budget).gpu_share))
    return min(bounds)


def card_budget(card_bytes: int, given_gib: float) -> int:
    """GPU memory of a card that trials may take, bytes."""
    return min(card_bytes, round(given_gib * GIB) if given_gib else DEFAULT_CARD_BYTES)


NODE_LABEL = "ray.io/node-id"  # that Ray gives each node
ACCELERATOR = "accelerator_type:"  # begins the names of resources by which Ray tells cards apart
MARK_SHARE = 0.001  # of such a resource that a trial takes, so that a node holds a thousand


@dataclass(frozen=True, kw_only=True)
class Node(Budget):
    """A node of a cluster, with what trials may take of it."""

    id: str
    device: str = "cpu"  # name of its cards; `cpu` without any
    marks: frozenset[str] = frozenset()  # names of its resources that begin with `ACCELERATOR`

    def holds(self, granted: Grant) -> bool:
        """Whether a trial that is granted this fits on it while nothing else runs there."""
        return self.cores >= 1 and granted.ram_bytes <= self.ram_bytes and granted.gpu_share <= self.gpus


class KindKey(NamedTuple):
    """What nodes of one kind have in common: name of the card, and its GPU memory for trials, bytes."""

    device: str
    card_bytes: int


class Request(NamedTuple):
    """What a placement group asks for beside cores, memory and a share of a card; all empty where any node will do."""

    resources: dict[str, float]
    nodes: frozenset[str] = frozenset()  # ids of those that may be chosen; empty where names do not matter
    leaving: frozenset[str] = frozenset()  # without such names, ids of those that go soon

    @property
    def labels(self) -> dict[str, str]:
        """Conditions on labels of a node, by label, as Ray takes them."""
        if self.nodes:
            return {NODE_LABEL: f"in({','.join(sorted(self.nodes))})"}
        return {NODE_LABEL: f"!in({','.join(sorted(self.leaving))})"} if self.leaving else {}

    def allows(self, node: Node) -> bool:
        """Whether Ray may choose a node for it, as far as names of nodes tell."""
        return node.id in self.nodes if self.nodes else node.id not in self.leaving


@dataclass(frozen=True)
class Kind:
    """Nodes with the same card."""

    nodes: tuple[Node, ...]
    mark: str = ""  # resource that all of these nodes have, and no other ones; empty without one

    @property
    def key(self) -> KindKey:
        """What its nodes have in common."""
        return KindKey(self.nodes[0].device, self.nodes[0].card_bytes)

    @property
    def budget(self) -> Budget:
        """What its trials may take together; memory is that of its largest node."""
        gpus, cores = sum(node.gpus for node in self.nodes), sum(node.cores for node in self.nodes)
        ram = max(node.ram_bytes for node in self.nodes)
        baseline = max((node.baseline for node in self.nodes), key=CardBaseline.vram)
        return Budget(gpus, self.key.card_bytes if gpus else 0, ram, max(1, cores), baseline)

    def request(self, is_only: bool, leaving: Collection[str] = ()) -> Request:
        """How Ray is asked for one of its nodes."""
        if is_only or self.mark:
            return Request({} if is_only else {self.mark: MARK_SHARE}, leaving=frozenset(leaving))
        ids = frozenset(node.id for node in self.nodes)
        return Request({}, ids - frozenset(leaving) or ids)


def kinds_of(nodes: Sequence[Node]) -> tuple[Kind, ...]:
    """The kinds of a cluster on which trials run, the one with the smallest card first.

    Where there are cards, trials run on nodes with cards alone; never on a node without a core, such as a free head.
    """
    able = [node for node in nodes if node.cores]
    able = [node for node in able if node.gpus] or able
    by_kind: dict[KindKey, list[Node]] = {}
    for node in sorted(able, key=lambda node: (node.card_bytes, node.device, node.id)):
        by_kind.setdefault(KindKey(node.device, node.card_bytes), []).append(node)
    return tuple(Kind(tuple(group), _mark(group, [node for node in nodes if node not in group])) for group in by_kind.values())


def largest(kinds: Iterable[Kind]) -> Kind:
    """The one with the largest card, of several that with most host memory on a node."""
    return max(kinds, key=lambda kind: (kind.key.card_bytes, kind.budget.ram_bytes))


def _mark(group: Sequence[Node], others: Sequence[Node]) -> str:
    common = frozenset.intersection(*(node.marks for node in group)) - frozenset().union(*(node.marks for node in others))
    return min(common, default="")
