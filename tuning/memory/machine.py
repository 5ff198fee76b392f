"""The machine's budget for trials: nodes with their cards that torch can use, memory and cores."""

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psutil

from common.errors import UserError
from common.texts import python_command
from common.units import GIB
from tuning.memory.allocation import ACCELERATOR, DEFAULT_CARD_BYTES, Budget, Kind, Node, card_budget, kinds_of
from tuning.memory.baseline import measured, measured_apart
from tuning.memory.gpus import cards
from tuning.memory.planner import CPU
from tuning.memory.prediction import ASSUMED, CardBaseline

PROBE_SHARE = 1e-4  # of a card: the least that Ray counts
PROBE_SECONDS = 30.0  # for a look at the cards; those that others have taken as a whole are looked at when they are free
AGAIN_SECONDS = 0.2  # between two questions whether an answer is there


@dataclass(frozen=True)
class VisibleCard:
    """A card as torch in a trial's process sees it."""

    name: str
    total_bytes: int
    baseline: CardBaseline | None  # of a process on it; None where torch cannot use it


# From ids of nodes with cards to what is known of them so far; None for a node on which the driver finds no card.
Look = Callable[[Collection[str]], Mapping[str, VisibleCard | None]]


class Probe:
    """Looks at the cards of nodes: at one of each node, in a task that Ray gives a share of it. It waits for nothing."""

    def __init__(self) -> None:
        self._known: dict[str, VisibleCard | None] = {}
        self._asked: dict[str, Any] = {}

    def __call__(self, ids: Collection[str]) -> Mapping[str, VisibleCard | None]:
        """Ask nodes that were not asked before, and take the answers that are there: of each node its smallest card."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        @ray.remote(num_cpus=0, num_gpus=PROBE_SHARE, max_retries=0)
        def look() -> VisibleCard | None:
            card = min(cards(), key=lambda card: card.total_bytes, default=None)
            return VisibleCard(card.name, card.total_bytes, measured(int(ray.get_gpu_ids()[0]))) if card else None

        for node in ids:
            if node not in self._known and node not in self._asked:
                on_node = NodeAffinitySchedulingStrategy(node, soft=False)
                self._asked[node] = look.options(scheduling_strategy=on_node).remote()
        if self._asked:
            ready, _ = ray.wait(list(self._asked.values()), num_returns=len(self._asked), timeout=0)
            for node in [node for node, answer in self._asked.items() if answer in ready]:
                answer = self._asked.pop(node)
                try:
                    self._known[node] = ray.get(answer)
                except ray.exceptions.RayTaskError:
                    # A driver that does not answer. A node that joins later with such a one ends no search.
                    if not self._known:
                        raise
                    self._known[node] = VisibleCard("card without a driver that answers", 0, None)
                except ray.exceptions.RayError:
                    continue  # the node is gone; one that is not is asked again
        return self._known


@dataclass(frozen=True)
class Cluster:
    """The nodes of Ray at a moment."""

    # That are alive, with the cards that torch can use; those with cards that were not looked at yet are left out.
    nodes: tuple[Node, ...]
    leaving: frozenset[str] = frozenset()  # ids of those that are drained: Ray places nothing there any more, and they go soon
    unusable: str = ""  # name of a card that torch cannot use; empty without one


def cluster(gpu_memory_gib: float, look: Look, device: str = "auto") -> Cluster:
    """The nodes of Ray now; without their cards where trials learn on the `cpu`."""
    import ray
    from ray._private import state

    alive = [node for node in ray.nodes() if node["Alive"]]
    with_cards = [] if device == "cpu" else [node["NodeID"] for node in alive if node["Resources"].get("GPU", 0)]
    visible = look(with_cards)
    nodes, unusable = [], ""
    for node in alive:
        node_id, has = node["NodeID"], node["Resources"]
        gpus = int(has.get("GPU", 0)) if node_id in with_cards else 0
        if gpus and node_id not in visible:
            continue
        card = visible.get(node_id) if gpus else None
        ram = int(has.get("memory", 0))
        # Ray counts all memory of a machine, also what other processes use.
        ram = min(ram, int(psutil.virtual_memory().available)) if len(alive) == 1 else ram
        cores, marks = int(has.get("CPU", 0)), frozenset(name for name in has if name.startswith(ACCELERATOR))
        if card and card.baseline:
            budget = card_budget(card.total_bytes, gpu_memory_gib)
            nodes.append(Node(gpus, budget, ram, cores, card.baseline, id=node_id, device=card.name, marks=marks))
        else:
            unusable = card.name if card else unusable
            nodes.append(Node(0, 0, ram, cores, id=node_id, marks=marks))
    # Ray's public interfaces do not tell which nodes are drained.
    leaving = frozenset(state.state.get_draining_nodes()) & {node.id for node in nodes}
    return Cluster(tuple(nodes), leaving, unusable)


def request_node() -> object:
    """Ask Ray for a core, so that an autoscaler starts a node; the demand lasts as long as what is returned."""
    import ray

    @ray.remote(num_cpus=1)
    def has_core() -> None:
        pass

    return has_core.remote()


def machine(
    gpu_memory_gib: float, look: Look, tell: Callable[[str], None] = lambda line: None, device: str = "auto"
) -> tuple[tuple[Kind, ...], str]:
    """The kinds of nodes of a Ray that is started, and a line for the user where there is no card; waits for a node.

    Raises `UserError` where the device has to be a `gpu` and there is none.
    """
    import ray

    begun, requested, told = time.monotonic(), None, set[str]()
    while True:
        now = cluster(gpu_memory_gib, look, device)
        unseen = sum(node["Alive"] for node in ray.nodes()) - len(now.nodes)
        is_late = time.monotonic() - begun > PROBE_SECONDS
        staying: Sequence[Node] = [node for node in now.nodes if node.id not in now.leaving] or now.nodes
        kinds = kinds_of(staying)
        if kinds and (unseen <= 0 or (is_late and any(node.gpus for node in now.nodes))):
            break
        why = ""
        if not kinds and unseen <= 0:
            requested = requested or request_node()
            why = "no node of the cluster has a core for trials; waiting for one that has"
        elif is_late:
            why = f"nodes with cards that do not answer, as other programs take them: {unseen}; waiting for one"
        if why and why not in told:
            told.add(why)
            tell(why)
        time.sleep(AGAIN_SECONDS)
    if any(node.gpus for node in staying) or device == "cpu":
        return kinds, ""
    doctor = f"{python_command('tuning.doctor')} says what to do"
    if device == "gpu":
        raise UserError(f"--device gpu: there is no {now.unusable or 'card'} that Ray and torch can use; {doctor}")
    line = "no GPU: trials learn on the CPU"
    if now.unusable:
        line = f"torch cannot use the {now.unusable}, so trials learn on the CPU: {doctor}"
    return kinds, line


def this_machine(device: str, gpu_memory_gib: float) -> tuple[Budget, str]:
    """Budget of this machine, without Ray, and the device's name. Raises `DriverError` for a driver that does not answer."""
    available, cores = int(psutil.virtual_memory().available), os.cpu_count() or 1
    gpus = () if device == "cpu" else cards()
    if gpus:
        card_bytes = card_budget(gpus[0].total_bytes, gpu_memory_gib)
        return Budget(len(gpus), card_bytes, available, cores, measured_apart() or ASSUMED), gpus[0].name
    if device == "gpu":
        assumed = round(gpu_memory_gib * GIB) or DEFAULT_CARD_BYTES
        return Budget(1, assumed, available, cores), "a card that is not here"
    return Budget(0, 0, available, cores), CPU
