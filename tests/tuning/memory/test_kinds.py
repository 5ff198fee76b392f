"""Nodes with the same card are one kind, and a placement group names it only where there are several."""

import pytest

from common.units import GIB
from tuning.memory.allocation import Budget, Grant, concurrency
from tuning.memory.kinds import MARK_SHARE, NODE_LABEL, Kind, Node, Request, kinds_of
from tuning.memory.prediction import Prediction, Term


def node(name: str, gib: int = 0, cores: int = 4, ram: int = 16, gpus: int = 1, device: str = "", marks: str = "") -> Node:
    """A node; with GPU memory, it has cards."""
    if not gib:
        return Node(name, cores, ram * GIB, marks=frozenset(marks.split()))
    return Node(name, cores, ram * GIB, gpus, device or f"card of {gib}", gib * GIB, frozenset(marks.split()))


def trial(vram: float = 0.0, ram: float = 1.0, cores: int = 1) -> Prediction:
    return Prediction((Term("all", "vram", round(vram * GIB), ""), Term("process", "ram", round(ram * GIB), "")), cores)


def names(kind: Kind) -> list[str]:
    return [own.id for own in kind.nodes]


def test_nodes_with_the_same_card_are_one_kind_and_the_smallest_card_is_first() -> None:
    found = kinds_of([node("c", 24), node("a", 8), node("b", 8), node("d", 8, device="another")])
    assert [names(kind) for kind in found] == [["d"], ["a", "b"], ["c"]]


def test_where_there_are_cards_trials_run_on_nodes_with_cards_alone() -> None:
    head = node("head", ram=512)
    (kind,) = kinds_of([head, node("a", 8, ram=16)])
    assert names(kind) == ["a"]
    # A trial that needs the head's memory would wait for ever.
    assert kind.budget == Budget(1, 8 * GIB, 16 * GIB, 4)


def test_no_trial_runs_on_a_node_without_cores() -> None:
    empty = node("head", cores=0)
    assert [names(kind) for kind in kinds_of([empty, node("a")])] == [["a"]]
    assert kinds_of([empty, node("card", 8, cores=0)]) == ()


def test_one_kind_asks_for_no_particular_node() -> None:
    (kind,) = kinds_of([node("a", 8, marks="accelerator_type:X"), node("b", 8, marks="accelerator_type:X")])
    assert kind.request(is_only=True) == ({}, {})


def test_of_several_kinds_each_asks_by_its_resource_or_else_by_its_nodes() -> None:
    small, large = kinds_of([node("a", 8, marks="accelerator_type:X"), node("b", 24, marks="accelerator_type:Y")])
    assert small.request(is_only=False) == ({"accelerator_type:X": MARK_SHARE}, {})
    assert large.request(is_only=False) == ({"accelerator_type:Y": MARK_SHARE}, {})
    # Ray has one name for cards of two sizes.
    small, large = kinds_of([node(name, gib, marks="accelerator_type:A100") for name, gib in (("a", 40), ("b", 80), ("c", 80))])
    assert small.request(is_only=False) == ({}, {NODE_LABEL: "in(a)"})
    assert large.request(is_only=False) == ({}, {NODE_LABEL: "in(b,c)"})


def test_nothing_is_placed_on_a_node_that_leaves() -> None:
    (kind,) = kinds_of([node("a", 8), node("b", 8)])
    assert kind.request(True, {"b"}) == ({}, {NODE_LABEL: "!in(b)"})
    assert kind.request(False, {"b"}) == ({}, {NODE_LABEL: "in(a)"})


@pytest.mark.parametrize("vram", [0.5, 2.0, 3.9, 7.0])
def test_the_room_of_a_node_is_what_runs_at_once_on_a_machine_of_its_size(vram: float) -> None:
    for own in (node("a", 8, gpus=2), node("b", 8, cores=2), node("c", 8, ram=3), node("d")):
        wanted = trial(vram if own.gpus else 0.0)
        budget = Budget(own.gpus, own.card_bytes, own.ram_bytes, own.cores)
        assert max(1, own.room(wanted)) == concurrency(wanted, budget)


def test_a_node_has_no_room_for_what_exceeds_its_card() -> None:
    assert node("a", 8).room(trial(9.0)) == 0
    assert node("b", 24).room(trial(9.0)) == 2


def test_a_request_allows_the_nodes_that_it_names() -> None:
    assert [Request({}, {NODE_LABEL: "in(a,b)"}).allows(node(name)) for name in "abc"] == [True, True, False]
    assert [Request({}, {NODE_LABEL: "!in(a,b)"}).allows(node(name)) for name in "abc"] == [False, False, True]
    assert Request({}, {}).allows(node("a"))


def test_a_node_holds_what_it_has_alone() -> None:
    own = node("a", 8, cores=2, ram=4)
    assert own.holds(Grant(1.0, 8 * GIB, 4 * GIB, 2))
    for more in (Grant(1.0, 0, 5 * GIB, 1), Grant(0.5, 0, GIB, 3), Grant(1.5, 0, GIB, 1)):
        assert not own.holds(more)
