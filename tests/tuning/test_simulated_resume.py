"""A search that is killed, stopped and robbed of its processes finds what an undisturbed one does."""

from pathlib import Path

import pytest

from tests.tuning.simulated import DISTURBED_SCHEDULES, check_disturbed, simulated_experiment


def test_in_many_schedules(tmp_path: Path) -> None:
    check_disturbed(simulated_experiment(tmp_path), range(DISTURBED_SCHEDULES))


@pytest.mark.torture
def test_in_a_million_schedules(tmp_path: Path) -> None:
    check_disturbed(simulated_experiment(tmp_path), range(DISTURBED_SCHEDULES, 500_000))
