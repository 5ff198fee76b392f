"""Each trial goes where it fits and where there is room, while nodes come and go."""

from pathlib import Path
from typing import Any

import pytest

from common.units import GIB
from tests.tuning.memory.test_allocation import node, prediction
from tests.tuning.roomy import SMALL, planner
from tuning.experiment.settings import Settings
from tuning.memory.allocation import NODE_LABEL, KindKey, Node, Request, kinds_of, room
from tuning.memory.placement import Placement
from tuning.memory.planner import Calibration, Planner
from tuning.memory.prediction import Prediction

X, Y = "accelerator_type:X", "accelerator_type:Y"
SMALL_CARD, LARGE_CARD = node("a", 8, marks=X), node("b", 24, marks=Y)
USUAL, LARGE = {"vram": 3.0}, {"vram": 12.0}


class Stated(Planner):
    """A planner by which trials take what their hyperparameters say, GiB."""

    def prediction(self, hyperparameters: Any, fallback: Any = None) -> Prediction:
        return prediction(hyperparameters["vram"] if self.budget.gpus else 0.0, hyperparameters.get("ram", 1.0))


def placement(tmp_path: Path, *nodes: Node) -> Placement:
    return Placement(Stated.of(Settings(), SMALL, kinds_of(nodes), Calibration(tmp_path / "calibration.json")))


@pytest.fixture
def own(tmp_path: Path) -> Placement:
    """On a small card and on a large one."""
    return placement(tmp_path, SMALL_CARD, LARGE_CARD)


def gib(found: Placement, number: int, of: dict[str, float], alone: bool = False) -> int:
    """Place a trial; GPU memory of the card, GiB."""
    return found.place(number, of, alone=alone).key.card_bytes // GIB


def test_a_trial_goes_to_the_smallest_card_with_room_then_to_a_larger_one(own: Placement) -> None:
    # Two of these fill the small card, by share; four nodes' cores the large one.
    assert [gib(own, number, USUAL) for number in range(6)] == [8, 8, 24, 24, 24, 24]
    own.free(1)
    assert gib(own, 7, USUAL) == 8


def test_without_room_a_trial_waits_where_the_least_is_taken(tmp_path: Path) -> None:
    own = placement(tmp_path, SMALL_CARD, node("b", 24, cores=8, marks=Y))
    for number in range(10):
        own.place(number, USUAL)
    own.place(10, USUAL)
    loads = {KindKey("card of 8", 8 * GIB): 0, KindKey("card of 24", 24 * GIB): 0}
    for number in range(11):
        loads[own._places[number].key] += 1
    # Nine have room. Then 83 % of the small card are taken, and 98 % of the large one.
    assert list(loads.values()) == [3, 8]


def test_a_trial_that_fits_the_large_card_alone_goes_there_though_it_waits(own: Placement) -> None:
    assert [gib(own, number, LARGE) for number in range(4)] == [24] * 4


def test_a_share_is_of_the_card_on_which_the_trial_runs(own: Placement) -> None:
    on_small, on_large = own.place(0, USUAL), own.place(1, LARGE)
    for place, total in ((on_small, 8), (on_large, 24)):
        assert place.grant.vram_bytes == pytest.approx(place.grant.gpu_share * total * GIB, rel=1e-3)
    assert on_small.request.resources == {X: 0.001}
    assert on_large.request.resources == {Y: 0.001}


def test_what_fits_no_card_is_refused_with_the_largest_one(own: Placement) -> None:
    assert own.excess(LARGE)[0] <= 0
    excess, why = own.excess({"vram": 30.0})
    assert excess == pytest.approx(9 * GIB, abs=2)
    assert "of 24.00 GiB of GPU memory" in why


def test_a_trial_alone_gets_the_largest_card_as_a_whole(own: Placement) -> None:
    place = own.place(0, USUAL, alone=True)
    assert (place.grant.gpu_share, place.grant.vram_bytes, place.grant.ram_bytes) == (1.0, 24 * GIB, 16 * GIB)


def test_with_one_machine_all_is_as_its_planner_says(tmp_path: Path) -> None:
    for budget in ({}, {"gpus": 2, "card_bytes": 8 * GIB, "cores": 8, "ram_bytes": 64 * GIB}):
        plan = planner(Settings(), tmp_path, **budget)
        own, usual = Placement(plan), plan.spec.space.complete({})
        assert own.excess(usual) == plan.excess(usual)
        assert own.prediction(usual) == plan.prediction(usual)
        assert own.at_once(plan.prediction(usual)) == room(plan.prediction(usual), plan.budget)
        for alone in (False, True):
            place = own.place(0, usual, alone=alone)
            assert place.grant == plan.grant(usual, alone=alone)
            assert place.request == Request({})


def test_trials_at_once_are_a_sum_over_nodes_and_follow_them(own: Placement) -> None:
    usual = prediction(3.0)
    assert own.at_once(usual) == 2 + 4
    # Those that need the large card count it alone.
    assert own.at_once(prediction(12.0)) == 1
    own.follow([SMALL_CARD, LARGE_CARD, node("c", 8, marks=X)])
    assert own.at_once(usual) == 2 + 4 + 2
    own.follow([LARGE_CARD])
    assert own.at_once(usual) == 4


def test_a_trial_whose_kind_is_gone_moves_where_it_fits_and_waits_where_it_does_not(own: Placement) -> None:
    own.place(0, USUAL)
    own.place(1, LARGE)
    own.follow([SMALL_CARD])
    assert not own.waits_in_vain(0)
    assert own.waits_in_vain(1)
    assert own.may_move(0, USUAL)
    assert not own.may_move(1, LARGE)
    # It waits for another node of its kind, and new trials of its size are refused.
    assert own.excess(LARGE)[0] > 0
    assert own.excess_ever(LARGE)[0] <= 0
    assert gib(own, 1, LARGE) == 24
    own.follow([LARGE_CARD])
    assert own.waits_in_vain(0)
    assert own.may_move(0, USUAL)
    assert gib(own, 0, USUAL) == 24


def test_a_trial_waits_in_vain_where_no_node_left_has_its_memory(tmp_path: Path) -> None:
    large, small = node("a", ram=20), node("b", ram=4)
    own = placement(tmp_path, large, small)
    own.place(0, {"vram": 0.0, "ram": 12.0})
    assert not own.waits_in_vain(0)
    own.follow([small])
    assert own.waits_in_vain(0)
    assert not own.may_move(0, {"vram": 0.0, "ram": 12.0})


def test_nothing_goes_to_a_node_that_is_drained(tmp_path: Path) -> None:
    own = placement(tmp_path, node("a"), node("b"))
    assert own.place(0, USUAL).request == Request({})
    own.follow([node("a"), node("b")], {"b"})
    assert own.place(0, USUAL).request.labels == {NODE_LABEL: "!in(b)"}
    assert own.at_once(prediction()) == 4
    own.follow([node("a")])
    assert own.place(0, USUAL).request == Request({})


def test_a_search_on_cards_waits_for_cards_and_one_on_the_cpu_stays_there(tmp_path: Path) -> None:
    own = placement(tmp_path, SMALL_CARD)
    own.follow([node("head")])
    assert gib(own, 0, USUAL) == 8
    assert own.waits_in_vain(0)
    on_cpu = placement(tmp_path, node("a"))
    on_cpu.follow([node("a"), SMALL_CARD])
    assert gib(on_cpu, 0, USUAL) == 0


def test_a_node_with_a_card_that_joins_a_search_on_the_cpu_adds_its_cores(tmp_path: Path) -> None:
    own = placement(tmp_path, node("c"), node("d"))
    own.follow([node("c"), node("d"), SMALL_CARD])
    assert own.at_once(prediction()) == 12
    assert [(kind.key.card_bytes, kind.budget.gpus, len(kind.nodes)) for kind in own.kinds] == [(0, 0, 3)]
    own.place(0, USUAL)
    own.follow([SMALL_CARD])
    assert not own.waits_in_vain(0)


@pytest.mark.parametrize("number", [0, 1])
def test_a_trial_stays_in_its_queue_where_the_head_alone_is_left(tmp_path: Path, number: int) -> None:
    own, head = placement(tmp_path, node("head", cores=0), node("a")), node("head", cores=0)
    own.place(number, USUAL, alone=bool(number))
    own.follow([head])
    assert own.waits_in_vain(number)
    # Placed anew, it would wait there again.
    assert not own.may_move(number, USUAL)
    own.follow([head, node("b")])
    assert not own.waits_in_vain(number)


def test_a_trial_alone_moves_to_a_node_with_less_memory(tmp_path: Path) -> None:
    own = placement(tmp_path, node("a", ram=16))
    own.place(0, USUAL, alone=True)
    own.follow([node("b", ram=8)])
    assert own.waits_in_vain(0)
    assert own.may_move(0, USUAL)
    assert own.place(0, USUAL, alone=True).grant.ram_bytes == 8 * GIB
    assert not own.waits_in_vain(0)


def test_where_ray_has_one_name_for_two_cards_a_trial_follows_the_nodes_of_its_kind(tmp_path: Path) -> None:
    small, large = node("a", 8, marks=X), node("b", 24, marks=X)
    own = placement(tmp_path, small, large)
    assert own.place(0, LARGE).request.labels == {NODE_LABEL: "in(b)"}
    assert not own.is_outdated(0)
    # The node died, and another one of its kind came.
    own.follow([small, node("b2", 24, marks=X)])
    assert own.waits_in_vain(0)
    assert own.may_move(0, LARGE)
    own.place(0, LARGE)
    assert not own.waits_in_vain(0)
    own.follow([small, node("b2", 24, marks=X), node("b3", 24, marks=X)])
    assert not own.waits_in_vain(0)
    assert own.is_outdated(0)
    assert own.place(0, LARGE).request.labels == {NODE_LABEL: "in(b2,b3)"}
    assert not own.is_outdated(0)


def test_where_a_second_kind_joins_trials_that_wait_have_to_name_theirs(tmp_path: Path) -> None:
    own = placement(tmp_path, LARGE_CARD)
    assert own.place(0, LARGE).request == Request({})
    own.follow([LARGE_CARD, node("c", 24, marks=Y)], {"c"})
    assert not own.is_outdated(0)
    own.follow([LARGE_CARD, SMALL_CARD])
    assert own.is_outdated(0)
    assert own.place(0, LARGE).request.resources == {Y: 0.001}
    assert not own.is_outdated(0)


def test_a_trial_alone_has_no_better_place_than_the_largest_card(own: Placement) -> None:
    own.place(0, USUAL, alone=True)
    assert not own.has_better(0, USUAL)
    # Nor is that card chosen last from now on.
    assert gib(own, 1, USUAL, alone=True) == 24
    assert own._full == set()


def test_a_kind_that_others_fill_is_chosen_last_until_a_trial_starts_there(own: Placement) -> None:
    assert gib(own, 0, USUAL) == 8
    assert own.has_better(0, USUAL)
    assert gib(own, 0, USUAL) == 24
    assert gib(own, 1, USUAL) == 24
    # Both are full by now, so there is no better one.
    assert not own.has_better(1, USUAL)
    own.free(0)
    own.started(1)
    assert gib(own, 2, USUAL) == 24


def test_free_memory_of_a_node_is_what_it_was_at_first(tmp_path: Path) -> None:
    own = placement(tmp_path, node("a", ram=16))
    own.follow([node("a", ram=2)])
    assert own.kinds[0].budget.ram_bytes == 16 * GIB


def test_memory_is_learned_for_the_card_of_the_trial(own: Placement, tmp_path: Path) -> None:
    own.place(0, USUAL)
    own.place(1, LARGE)
    row = {
        "peak_process_vram_bytes": 9 * GIB, "peak_rss_bytes": GIB, "predicted_vram_bytes": 6 * GIB, "predicted_ram_bytes": GIB,
    }  # fmt: skip
    assert own.missing(0, row) == GIB
    assert own.missing(1, row) == 1
    for _ in range(6):
        own.learn(1, row)
    found = Calibration(tmp_path / "calibration.json")
    assert found.correction("card of 24", "ppo", "vram").trials == 6
    assert found.correction("card of 8", "ppo", "vram").trials == 0
