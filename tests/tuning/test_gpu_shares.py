"""Ray packs trials by the shares of a card that they are granted, with a card that is only counted."""

from collections.abc import Iterator
from typing import Any

import pytest

from common.units import GIB
from tuning.algorithms.memory import Term
from tuning.memory.allocation import Budget, Grant, grant
from tuning.memory.prediction import Prediction
from tuning.runtime.ray_session import ray_session

BUDGET = Budget(gpus=1, card_bytes=8 * GIB, ram_bytes=4 * GIB, cores=8)


@pytest.fixture(scope="module")
def one_card() -> Iterator[None]:
    with ray_session(num_cpus=8, num_gpus=1):
        yield


def granted(vram: float) -> Grant:
    return grant(Prediction((Term("all", "vram", round(vram * GIB), ""), Term("process", "ram", GIB // 4, ""))), BUDGET)


@pytest.mark.slow  # `memory/test_allocation.py` adds up shares without Ray
@pytest.mark.usefixtures("one_card")
def test_as_many_run_at_once_as_fit_and_never_more_than_the_budget() -> None:
    import time

    import ray

    wanted = [granted(vram) for vram in (3.0, 3.0, 2.0, 1.0, 0.5, 0.5, 3.0)]
    half = BUDGET.card_bytes // 2

    @ray.remote(num_cpus=0)
    class Card:
        """Counts what trials hold, and the most that they held at once."""

        def __init__(self) -> None:
            self.held = self.most = 0

        def add(self, nbytes: int) -> int:
            self.held += nbytes
            self.most = max(self.most, self.held)
            return self.most

    @ray.remote
    def allocate(card: Any, nbytes: int) -> None:
        """Stands in for a trial that takes what it was granted, until others had the time to start beside it."""
        most, ends = ray.get(card.add.remote(nbytes)), time.monotonic() + 60
        time.sleep(0.5)
        while most <= half and time.monotonic() < ends:
            time.sleep(0.05)
            most = ray.get(card.add.remote(0))
        ray.get(card.add.remote(-nbytes))

    card = Card.remote()
    ray.get(
        [
            allocate.options(num_cpus=1, num_gpus=each.gpu_share, memory=each.ram_bytes).remote(card, each.vram_bytes)
            for each in wanted
        ]
    )
    most = ray.get(card.add.remote(0))
    assert half < most <= BUDGET.card_bytes
