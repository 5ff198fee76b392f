"""Grants of machines and clusters."""

import pytest

from common.units import GIB
from tuning.algorithms.memory import Term
from tuning.memory.allocation import (
    MARK_SHARE,
    NODE_LABEL,
    RAM_STEP_BYTES,
    SHARES,
    Budget,
    Grant,
    Kind,
    Node,
    Request,
    card_budget,
    grant,
    kinds_of,
    ram_grant,
    room,
    vram_need,
)
from tuning.memory.prediction import Prediction


def prediction(vram: float = 0.0, ram: float = 1.0) -> Prediction:
    """Of GPU memory and host memory in GiB."""
    buffer = Term("replay buffer", "ram", round(ram * GIB), "as given", "buffer_size")
    return Prediction((Term("weights", "vram", round(vram * GIB), "as given"), buffer))


def budget(card: float = 8.0, gpus: int = 1, ram: float = 32.0, cores: int = 16) -> Budget:
    return Budget(gpus, round(card * GIB), round(ram * GIB), cores)


@pytest.mark.parametrize("vram", [0.01, 0.5, 1.0, 2.7, 7.2])
def test_a_share_is_what_is_granted_over_the_budget_and_holds_what_is_needed(vram: float) -> None:
    wanted = prediction(vram)
    granted = grant(wanted, budget())
    assert granted.vram_bytes >= vram_need(wanted) > wanted.vram
    assert granted.gpu_share == pytest.approx(granted.vram_bytes / (8 * GIB), abs=1.0 / SHARES)
    assert granted.gpu_share * SHARES == pytest.approx(round(granted.gpu_share * SHARES))
    # Little of a card is granted in vain, and shares that fill it hold no more than there is.
    assert granted.vram_bytes - vram_need(wanted) <= 8 * GIB / 256
    assert granted.vram_bytes * int(1.0 / granted.gpu_share) <= 8 * GIB
    assert granted.bundle == {"CPU": 1.0, "memory": granted.ram_bytes, "GPU": granted.gpu_share}


def test_without_a_card_no_share_is_reserved() -> None:
    granted = grant(prediction(), budget(gpus=0))
    assert (granted.gpu_share, granted.vram_bytes) == (0.0, 0)
    assert "GPU" not in granted.bundle


def test_alone_a_trial_has_a_whole_card_and_all_memory() -> None:
    granted = grant(prediction(0.5), budget(), alone=True)
    assert granted.gpu_share == 1.0
    assert granted.vram_bytes == 8 * GIB
    assert granted.ram_bytes == 32 * GIB


def test_host_memory_is_granted_in_steps_so_that_processes_can_be_kept() -> None:
    granted = {ram_grant(prediction(ram=ram)) for ram in (1.10, 1.15, 1.20, 1.28)}
    assert len(granted) == 1
    assert granted.pop() % RAM_STEP_BYTES == 0


@pytest.mark.parametrize(
    ("wanted", "has", "fits"),
    [
        (prediction(7.0), budget(), True),
        (prediction(7.5), budget(), False),  # with headroom it is more than 8
        (prediction(7.5), budget(card=24.0), True),
        (prediction(0.5, ram=30.0), budget(), False),
        (prediction(7.5), budget(gpus=0), True),
        (prediction(0.5, ram=2.0), budget(ram=1.5), False),
    ],
)
def test_what_is_more_than_the_budget_does_not_fit(wanted: Prediction, has: Budget, fits: bool) -> None:
    assert (has.excess(wanted) <= 0) == fits
    if not fits:
        assert "does not fit" in has.why_not(wanted)


def test_what_does_not_fit_is_named_with_what_makes_it_smaller() -> None:
    line = budget().why_not(prediction(0.1, ram=40.0))
    assert "40.00 GiB of 32.00 GiB of memory" in line
    assert "replay buffer" in line
    assert line.endswith("lower buffer_size")


@pytest.mark.parametrize(
    ("has", "expected"),
    [
        (budget(cores=2), 2),
        (budget(cores=16, ram=8.0), 5),  # 1.5 GiB each
        (budget(cores=16), 14),  # 0.5 GiB with headroom, of 8
        (budget(cores=64, gpus=2, ram=512.0), 28),
        (budget(cores=1, ram=0.1, gpus=0), 0),
        (budget(card=0.5, gpus=2), 0),
    ],
)
def test_as_many_run_at_once_as_find_room(has: Budget, expected: int) -> None:
    assert room(prediction(0.5), has) == expected


@pytest.mark.parametrize(
    ("card", "asked", "expected"), [(8, 0, 8), (24, 0, 8), (6, 0, 6), (24, 20, 20), (8, 20, 8), (24, 1.5, 1.5)]
)
def test_a_cards_budget(card: float, asked: float, expected: float) -> None:
    assert card_budget(round(card * GIB), asked) == expected * GIB


def node(name: str, gib: int = 0, cores: int = 4, ram: int = 16, gpus: int = 1, device: str = "", marks: str = "") -> Node:
    """A node; with GPU memory, it has cards."""
    named = (device or f"card of {gib}") if gib else "cpu"
    return Node(gpus if gib else 0, gib * GIB, ram * GIB, cores, id=name, device=named, marks=frozenset(marks.split()))


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
    assert kind.request(is_only=True) == Request({})


def test_of_several_kinds_each_asks_by_its_resource_or_else_by_its_nodes() -> None:
    small, large = kinds_of([node("a", 8, marks="accelerator_type:X"), node("b", 24, marks="accelerator_type:Y")])
    assert small.request(is_only=False) == Request({"accelerator_type:X": MARK_SHARE})
    assert large.request(is_only=False) == Request({"accelerator_type:Y": MARK_SHARE})
    # Ray has one name for cards of two sizes.
    small, large = kinds_of([node(name, gib, marks="accelerator_type:A100") for name, gib in (("a", 40), ("b", 80), ("c", 80))])
    assert [kind.request(is_only=False).resources for kind in (small, large)] == [{}, {}]
    assert small.request(is_only=False).labels == {NODE_LABEL: "in(a)"}
    assert large.request(is_only=False).labels == {NODE_LABEL: "in(b,c)"}


def test_nothing_is_placed_on_a_node_that_leaves() -> None:
    (kind,) = kinds_of([node("a", 8), node("b", 8)])
    assert kind.request(True, {"b"}).labels == {NODE_LABEL: "!in(b)"}
    assert kind.request(False, {"b"}).labels == {NODE_LABEL: "in(a)"}


def test_a_request_allows_the_nodes_that_it_names() -> None:
    assert [Request({}, frozenset("ab")).allows(node(name)) for name in "abc"] == [True, True, False]
    assert [Request({}, leaving=frozenset("ab")).allows(node(name)) for name in "abc"] == [False, False, True]
    assert Request({}).allows(node("a"))


def test_a_node_holds_what_it_has_alone() -> None:
    own = node("a", 8, cores=1, ram=4)
    assert own.holds(Grant(1.0, 8 * GIB, 4 * GIB))
    assert not own.holds(Grant(1.0, 0, 5 * GIB))
    assert not own.holds(Grant(1.5, 0, GIB))
    assert not node("head", cores=0).holds(Grant(0.0, 0, GIB))
