"""Sums of terms, their correction, and bytes as text."""

import pytest

from common.units import GIB, KIB, MIB
from tuning.memory.prediction import Prediction, Term, size

TERMS = (Term("weights", "vram", 100, ""), Term("process", "ram", 1000, ""), Term("buffer", "ram", 3000, "", "buffer_size"))


def test_each_place_has_its_own_sum_and_correction() -> None:
    found = Prediction(TERMS, correction=(2.0, 0.5))
    assert (found.uncorrected("vram"), found.uncorrected("ram")) == (100, 4000)
    assert (found.vram, found.ram) == (200, 2000)


def test_without_a_gpu_there_is_no_gpu_memory() -> None:
    assert Prediction(TERMS[1:]).vram == 0


def test_the_largest_term_is_that_of_its_place() -> None:
    assert Prediction(TERMS).largest("ram").lever == "buffer_size"
    assert Prediction(TERMS).largest("vram").name == "weights"


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [(512, "0.5 KiB"), (3 * KIB, "3.0 KiB"), (1.5 * MIB, "1.5 MiB"), (2.25 * GIB, "2.25 GiB"), (-2 * GIB, "-2.00 GiB")],
)
def test_bytes_as_text(nbytes: float, text: str) -> None:
    assert size(nbytes) == text
