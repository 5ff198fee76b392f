"""What a trial is granted, and that all that are granted something fit."""

import random

import pytest

from tuning.memory.allocation import (
    RAM_STEP_BYTES,
    SHARES,
    Budget,
    card_budget,
    concurrency,
    grant,
    ram_grant,
    vram_need,
)
from tuning.memory.prediction import GIB, Prediction, Term


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


def test_the_excess_is_in_bytes() -> None:
    wanted = prediction(ram=40.0)
    assert budget(gpus=0).excess(wanted) == ram_grant(wanted) - 32 * GIB


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
        (budget(cores=1, ram=0.1, gpus=0), 1),
    ],
)
def test_as_many_run_at_once_as_find_room(has: Budget, expected: int) -> None:
    assert concurrency(prediction(0.5), has) == expected


@pytest.mark.parametrize(
    ("card", "asked", "expected"), [(8, 0, 8), (24, 0, 8), (6, 0, 6), (24, 20, 20), (8, 20, 8), (24, 1.5, 1.5)]
)
def test_a_cards_budget(card: float, asked: float, expected: float) -> None:
    assert card_budget(round(card * GIB), asked) == expected * GIB


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("card", [8, 24, 80])
def test_packing_mixed_trials_fills_a_card_and_never_more(card: int, seed: int) -> None:
    """As Ray packs: of those that wait, the first that fits into what is left is begun."""
    rng = random.Random(seed)
    has = budget(card=float(card), cores=10_000, ram=10_000.0)
    waiting = [prediction(rng.choice((0.5, 0.7, 1.1, 1.9, 3.3, 6.0)) * rng.uniform(0.9, 1.1)) for _ in range(400)]
    running: list[tuple[int, float, int]] = []  # end, share, bytes
    used = []
    for now in range(1000):
        running = [trial for trial in running if trial[0] > now]
        for wanted in list(waiting):
            granted = grant(wanted, has)
            if sum(share for _, share, _ in running) + granted.gpu_share <= 1.0 + 1e-9:
                waiting.remove(wanted)
                running.append((now + rng.randint(5, 30), granted.gpu_share, granted.vram_bytes))
        total = sum(nbytes for *_, nbytes in running)
        assert total <= has.card_bytes
        if sum(wanted.vram < GIB for wanted in waiting) < 10:
            # What is left over has no small ones to fill the gaps.
            break
        used.append(total / has.card_bytes)
    assert len(used) > 20
    assert min(used) >= 0.85
