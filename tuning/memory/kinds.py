"""Kinds of nodes in a cluster: which card their trials share, and how Ray is asked for one of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tuning.memory.allocation import Budget, Grant, grant, ram_grant, vram_need
from tuning.memory.prediction import Prediction

NODE_LABEL = "ray.io/node-id"  # that Ray gives each node
ACCELERATOR = "accelerator_type:"  # begins the names of resources by which Ray tells cards apart
MARK_SHARE = 0.001  # of such a resource that a trial takes, so that a node holds a thousand


@dataclass(frozen=True)
class Node:
    """A node of a cluster.

    Attributes:
        id: that Ray gave it.
        cores: of it.
        ram_bytes: memory that it gives to trials.
        gpus: cards.
        device: name of its cards; `cpu` without any.
        card_bytes: GPU memory of each of them that trials may take.
        marks: names of its resources that begin with `ACCELERATOR`.
    """

    id: str
    cores: int
    ram_bytes: int
    gpus: int = 0
    device: str = "cpu"
    card_bytes: int = 0
    marks: frozenset[str] = frozenset()

    def room(self, prediction: Prediction) -> int:
        """Trials like this one that fit on it at once.

        Args:
            prediction: of the trial's memory.
        """
        bounds = [self.cores // prediction.cores, self.ram_bytes // ram_grant(prediction)]
        if self.gpus:
            budget = Budget(self.gpus, self.card_bytes, self.ram_bytes, self.cores)
            is_larger = vram_need(prediction) > self.card_bytes
            bounds.append(0 if is_larger else self.gpus * int(1.0 / grant(prediction, budget).gpu_share))
        return min(bounds)

    def holds(self, granted: Grant) -> bool:
        """Whether a trial that is granted this fits on it while nothing else runs there."""
        return granted.cores <= self.cores and granted.ram_bytes <= self.ram_bytes and granted.gpu_share <= self.gpus


class Key(NamedTuple):
    """By what nodes are of one kind: name of the card, and its GPU memory for trials, bytes."""

    device: str
    card_bytes: int


class Request(NamedTuple):
    """What a placement group asks for beside cores, memory and a share of a card; both empty where any node will do.

    Attributes:
        resources: amounts by name.
        labels: conditions on labels of a node, by label.
    """

    resources: dict[str, float]
    labels: dict[str, str]

    def allows(self, node: Node) -> bool:
        """Whether Ray may choose a node for it, as far as names of nodes tell."""
        condition = self.labels.get(NODE_LABEL, "")
        named = condition.removeprefix("!").removeprefix("in(").removesuffix(")").split(",")
        return not condition or (node.id in named) != condition.startswith("!")

    @property
    def nodes_named(self) -> Request:
        """It without nodes that are excluded as they go soon: Ray places nothing there anyway."""
        return Request(self.resources, {name: of for name, of in self.labels.items() if not of.startswith("!")})


@dataclass(frozen=True)
class Kind:
    """Nodes with the same card.

    Attributes:
        nodes: at least one.
        mark: resource that all of these nodes have, and no other ones; empty without one.
    """

    nodes: tuple[Node, ...]
    mark: str = ""

    @property
    def key(self) -> Key:
        """By what its nodes are of one kind."""
        return Key(self.nodes[0].device, self.nodes[0].card_bytes)

    @property
    def budget(self) -> Budget:
        """What its trials may take together; memory is that of its largest node."""
        gpus, cores = sum(node.gpus for node in self.nodes), sum(node.cores for node in self.nodes)
        return Budget(gpus, self.key.card_bytes if gpus else 0, max(node.ram_bytes for node in self.nodes), max(1, cores))

    def request(self, is_only: bool, leaving: Collection[str] = ()) -> Request:
        """How Ray is asked for one of its nodes.

        Args:
            is_only: whether there is no other kind.
            leaving: ids of nodes that go soon. Ray places nothing new there; but Tune would use a process there again for the
                next trial that asks for the same.
        """
        left = {NODE_LABEL: f"!in({','.join(sorted(leaving))})"} if leaving else {}
        if is_only:
            return Request({}, left)
        if self.mark:
            return Request({self.mark: MARK_SHARE}, left)
        ids = sorted({node.id for node in self.nodes} - set(leaving)) or sorted(node.id for node in self.nodes)
        return Request({}, {NODE_LABEL: f"in({','.join(ids)})"})


def kinds_of(nodes: Sequence[Node]) -> tuple[Kind, ...]:
    """The kinds of a cluster on which trials run, the one with the smallest card first.

    Where there are cards, trials run on nodes with cards alone. No trial runs on a node without a core, such as a head that is
    kept free: where all are such nodes there is no kind.

    Args:
        nodes: that are alive.
    """
    able = [node for node in nodes if node.cores]
    able = [node for node in able if node.gpus] or able
    of: dict[Key, list[Node]] = {}
    for node in sorted(able, key=lambda node: (node.card_bytes, node.device, node.id)):
        of.setdefault(Key(node.device, node.card_bytes), []).append(node)
    return tuple(Kind(tuple(own), _mark(own, [node for node in nodes if node not in own])) for own in of.values())


def _mark(own: Sequence[Node], others: Sequence[Node]) -> str:
    """Resource that tells nodes from others; empty without one."""
    common = frozenset.intersection(*(node.marks for node in own)) - frozenset().union(*(node.marks for node in others))
    return min(common, default="")
