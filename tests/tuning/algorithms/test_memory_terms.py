"""Terms that algorithms share, by hand."""

from common.units import MIB
from tuning.algorithms.memory_terms import WRITE_BYTES, Term, Workload, checkpoint_term, network_terms, total


def test_networks_have_weights_gradients_and_what_the_optimizer_keeps() -> None:
    terms = network_terms(parameters=100, trained=90, slots=2, targets=40, place="vram")
    assert {term.name: term.nbytes for term in terms} == {
        "weights": 400, "gradients": 360, "optimizer": 720, "target networks": 160,
    }  # fmt: skip
    assert {term.lever for term in terms} == {"hidden_sizes"}
    assert len(network_terms(100, 100, 1, 0, "ram")) == 3


def test_a_checkpoint_takes_only_what_exceeds_the_memory_of_gradients() -> None:
    gradients = Term("activations", "ram", 1000, "", passing=True)
    on_the_card = Term("activations", "vram", 10**9, "", passing=True)
    lasting = Term("weights", "ram", 10**9, "")
    assert checkpoint_term(500, 0, [gradients, on_the_card, lasting]).nbytes == 2000 - 1000
    assert checkpoint_term(100, 0, [gradients]).nbytes == 0


def test_new_transitions_are_copied_and_written_in_pieces() -> None:
    assert checkpoint_term(0, 4 * MIB, []).nbytes == 2 * 4 * MIB
    assert checkpoint_term(0, 100 * MIB, []).nbytes == 100 * MIB + WRITE_BYTES


def test_a_learner_lies_where_it_learns() -> None:
    assert Workload(8, 1000, 2, 4, gpu=True).learner == "vram"
    assert Workload(8, 1000, 2, 4, gpu=False).learner == "ram"


def test_a_total_is_of_one_place() -> None:
    terms = [Term("a", "ram", 1, ""), Term("b", "vram", 10, ""), Term("c", "ram", 100, "")]
    assert (total(terms, "ram"), total(terms, "vram")) == (101, 10)
