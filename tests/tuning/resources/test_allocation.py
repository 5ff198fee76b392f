"""How many trials run at once, and with what share of a card."""

import pytest

from tuning.resources import TRIAL_MEMORY_BYTES, default_concurrency, gpu_share


@pytest.mark.parametrize(("cores", "trials_of_memory", "expected"), [(2, 100, 2), (16, 3.9, 3), (8, 0.1, 1), (0, 0, 1)])
def test_cores_and_memory_bound_the_trials(cores: float, trials_of_memory: float, expected: int) -> None:
    assert default_concurrency({"CPU": cores, "memory": trials_of_memory * TRIAL_MEMORY_BYTES}) == expected


@pytest.mark.parametrize("gpus", [1, 2, 3, 8])
@pytest.mark.parametrize("concurrency", range(1, 20))
def test_all_trials_find_room_and_no_card_is_promised_twice(gpus: int, concurrency: int) -> None:
    share = gpu_share(gpus, concurrency)
    ten_thousandths = round(share * 10_000)
    assert ten_thousandths == pytest.approx(share * 10_000)
    assert gpus * (10_000 // ten_thousandths) >= concurrency


def test_without_a_gpu_no_share_is_asked_for() -> None:
    assert gpu_share(0, 4) == 0.0
