"""Ray packs trials by the shares of a card that they are granted, with a card that is only counted."""

import itertools
from collections.abc import Iterator

import pytest

from tuning.memory.allocation import Budget, Grant, grant
from tuning.memory.prediction import GIB, Prediction, Term
from tuning.runtime.ray_session import ray_session

BUDGET = Budget(gpus=1, card_bytes=8 * GIB, ram_bytes=4 * GIB, cores=8)


@pytest.fixture(scope="module")
def one_card() -> Iterator[None]:
    with ray_session(num_cpus=8, num_gpus=1):
        yield


def granted(vram: float) -> Grant:
    return grant(Prediction((Term("all", "vram", round(vram * GIB), ""), Term("process", "ram", GIB // 4, ""))), BUDGET)


@pytest.mark.usefixtures("one_card")
def test_as_many_run_at_once_as_fit_and_never_more_than_the_budget() -> None:
    import time

    import ray

    wanted = [granted(vram) for vram in (3.0, 3.0, 2.0, 1.0, 0.5, 0.5, 3.0)]

    @ray.remote
    def allocate(nbytes: int) -> tuple[float, float, int]:
        """Stands in for a trial that takes what it was granted, for a while."""
        began = time.monotonic()
        time.sleep(0.5)
        return began, time.monotonic(), nbytes

    spans = ray.get(
        [
            allocate.options(num_cpus=each.cores, num_gpus=each.gpu_share, memory=each.ram_bytes).remote(each.vram_bytes)
            for each in wanted
        ]
    )
    most = 0
    for moment in itertools.chain.from_iterable((began, ended) for began, ended, _ in spans):
        most = max(most, sum(nbytes for began, ended, nbytes in spans if began <= moment < ended))
    assert BUDGET.card_bytes * 0.5 < most <= BUDGET.card_bytes
