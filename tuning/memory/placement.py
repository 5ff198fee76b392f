"""On which kind of node each trial runs; follows a cluster whose nodes come and go."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from search_spaces import Assignment
from tuning.memory.allocation import Grant, Kind, KindKey, Node, Request, kinds_of, largest, room
from tuning.memory.planner import CPU, FALLBACKS, Fallback, Planner
from tuning.memory.prediction import Prediction


@dataclass(frozen=True)
class Place:
    """Where a trial runs, or waits to run."""

    key: KindKey
    grant: Grant  # what Ray reserves for it, and its limits
    request: Request
    fallback: Fallback = FALLBACKS[0]
    alone: bool = False  # whether it has a whole card, and may take all memory of a node


ANYWHERE = Place(KindKey("", 0), Grant(0.0, 0, 0), Request({}))  # of a trial outside of a search, which is held to no limit


class Placement:
    """Chooses the kind of node of each trial that is handed out, and grants memory and cores by its card.

    A trial goes to the smallest card on which it fits and has room, by what this search runs; without room, where the least is
    taken. What other searches take shows only in time: a kind where a trial waits is chosen last until one starts there again.
    Kinds that were seen in this run stay known: a trial that fits only one that is gone waits for it.
    """

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._seen: dict[KindKey, Kind] = {}
        self._present: dict[KindKey, Kind] = {}
        self._leaving: frozenset[str] = frozenset()
        self._places: dict[int, Place] = {}
        self._full: set[KindKey] = set()
        self._at_once: tuple[Prediction, int] | None = None
        self._nodes = {node.id: node for kind in planner.kinds for node in kind.nodes}
        self._take(planner.kinds)

    def follow(self, nodes: Collection[Node], leaving: Collection[str] = ()) -> None:
        """Take over which nodes there are. A search that began on the CPU stays there, one on cards waits for cards."""
        # Memory that is free on a machine falls while trials run: what was seen first holds.
        known = [self._nodes.setdefault(node.id, node) for node in nodes]
        self._leaving = frozenset(leaving)
        staying = [node for node in known if node.id not in self._leaving]
        if any(kind.budget.gpus for kind in self._seen.values()):
            self._take(kinds_of([node for node in staying if node.gpus]))
        else:
            self._take(kinds_of([replace(node, gpus=0, device=CPU, card_bytes=0) for node in staying]))

    def _take(self, kinds: Iterable[Kind]) -> None:
        self._present = {kind.key: kind for kind in kinds}
        self._seen |= self._present
        self._at_once = None

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kinds on which trials may be placed now; if all are gone, those that there were."""
        return tuple((self._present or self._seen).values())

    def _of(self, kind: Kind) -> Planner:
        # One baseline for all, as the row of a trial has one prediction, wherever the trial will run.
        budget = replace(kind.budget, baseline=self._planner.budget.baseline)
        return replace(self._planner, budget=budget, device=kind.key.device, kinds=())

    def prediction(self, hyperparameters: Assignment) -> Prediction:
        """Memory of a trial, with the corrections of the largest card."""
        return self._of(largest(self.kinds)).prediction(hyperparameters)

    def excess(self, hyperparameters: Assignment) -> tuple[int, str]:
        """Bytes by which a trial exceeds the kind on which it lacks least, below 0 where it fits, and the reason."""
        return self._least_excess(self.kinds, hyperparameters)

    def excess_ever(self, hyperparameters: Assignment) -> tuple[int, str]:
        """Likewise, with the kinds that were seen in this run: one that is gone may come back."""
        return self._least_excess(self._seen.values(), hyperparameters)

    def _least_excess(self, kinds: Iterable[Kind], hyperparameters: Assignment) -> tuple[int, str]:
        return min((self._of(kind).excess(hyperparameters) for kind in kinds), key=lambda excess: excess[0])

    def place(self, number: int, hyperparameters: Assignment, fallback: Fallback = FALLBACKS[0], alone: bool = False) -> Place:
        """Choose the kind of a trial that fits one, and note that it takes what it is granted there."""
        self.free(number)
        place = self._place(hyperparameters, fallback, alone)
        self._places[number] = place
        return place

    def _place(self, hyperparameters: Assignment, fallback: Fallback, alone: bool) -> Place:
        kinds = self._fitting(hyperparameters)
        granted = {kind.key: self._of(kind).grant(hyperparameters, fallback, alone) for kind in kinds}
        if len(kinds) == 1:
            (chosen,) = kinds
        elif alone:
            chosen = largest(kinds)  # it ran out of memory
        else:
            roomy = [kind for kind in kinds if self._has_room(kind, granted[kind.key])]
            chosen = min(
                roomy or kinds,
                key=lambda kind: (kind.key in self._full, 0.0 if roomy else self._load(kind), kind.key.card_bytes),
            )
        return Place(chosen.key, granted[chosen.key], self._request(chosen), fallback, alone)

    def _request(self, kind: Kind) -> Request:
        return kind.request(len(self._seen) == 1, self._leaving)

    def _fitting(self, hyperparameters: Assignment) -> tuple[Kind, ...]:
        """Kinds on which a trial fits: of those that are there, or else of those that were."""
        if len(self._seen) == 1:
            return tuple(self._seen.values())
        for kinds in (self.kinds, tuple(self._seen.values())):
            if fitting := tuple(kind for kind in kinds if self._fits(kind, hyperparameters)):
                return fitting
        return (largest(self.kinds),)

    def _fits(self, kind: Kind, hyperparameters: Assignment) -> bool:
        return self._of(kind).excess(hyperparameters)[0] <= 0

    def _load(self, kind: Kind, *further: Grant) -> float:
        """The largest part of a kind's cores, memory or cards that this search takes, with further trials."""
        # Sums over all nodes; how trials lie on these, Ray knows.
        grants = [*(place.grant for place in self._places.values() if place.key == kind.key), *further]
        return max(
            len(grants) / kind.budget.cores,
            sum(granted.ram_bytes for granted in grants) / max(1, sum(node.ram_bytes for node in kind.nodes)),
            sum(granted.gpu_share for granted in grants) / max(1, kind.budget.gpus),
        )

    def _has_room(self, kind: Kind, granted: Grant) -> bool:
        """Whether a trial fits beside those of this search, as far as sums tell; those of shares are rounded."""
        return self._load(kind, granted) <= 1.0 + 1e-9

    def free(self, number: int) -> None:
        """Note that a trial does not run any more; nothing happens if it was not placed."""
        self._places.pop(number, None)

    def started(self, number: int) -> None:
        """Note that a trial began on its kind."""
        if number in self._places:
            self._full.discard(self._places[number].key)

    def waits_in_vain(self, number: int) -> bool:
        """Whether no node is there any more on which a trial that waits would fit."""
        return not self._is_held(self._places[number])

    def _is_held(self, place: Place) -> bool:
        """Whether a node is there that has what a place needs, and that Ray may choose for it."""
        kind = self._present.get(place.key)
        return kind is not None and any(node.holds(place.grant) and place.request.allows(node) for node in kind.nodes)

    def may_move(self, number: int, hyperparameters: Assignment) -> bool:
        """Whether a trial that waits would be placed where a node has what it needs, of its own kind or another one."""
        # A trial that waits takes nothing yet.
        before = self._places.pop(number)
        after = self._place(hyperparameters, before.fallback, before.alone)
        self._places[number] = before
        return self._is_held(after)

    def is_outdated(self, number: int) -> bool:
        """Whether Ray would be asked otherwise today for a waiting trial's kind, as where a second kind of card joined."""
        place = self._places[number]
        kind = self._present.get(place.key)
        # Which nodes go soon does not matter: Ray places nothing there anyway.
        return kind is not None and self._request(kind)._replace(leaving=place.request.leaving) != place.request

    def has_better(self, number: int, hyperparameters: Assignment) -> bool:
        """Whether another kind has room for a trial that has waited long; its own one is chosen last from now on."""
        if self._places[number].alone:
            return False  # it waits for the largest card, and would again
        self._full.add(self._places[number].key)
        return any(
            self._fits(kind, hyperparameters) and self._has_room(kind, self._of(kind).grant(hyperparameters))
            for kind in self._present.values()
            if kind.key not in self._full
        )

    def at_once(self, usual: Prediction) -> int:
        """Trials like this one that run at once on all nodes; at least one."""
        if self._at_once is None or self._at_once[0] is not usual:
            self._at_once = usual, max(1, sum(room(usual, node) for kind in self.kinds for node in kind.nodes))
        return self._at_once[1]

    def missing(self, number: int, row: dict[str, Any]) -> int:
        """See `Planner.missing`; by the kind on which the trial ran."""
        return self._of_trial(number).missing(row)

    def learn(self, number: int, row: dict[str, Any]) -> None:
        """See `Planner.learn`; for the card on which the trial ran."""
        self._of_trial(number).learn(row)

    def _of_trial(self, number: int) -> Planner:
        place = self._places.get(number)
        kind = self._seen.get(place.key) if place else None
        return self._of(kind) if kind else self._planner
