"""A search that is killed, stopped and robbed of its processes finds what an undisturbed one does."""

from pathlib import Path

import pytest

from tests.tuning.simulated import (
    DISTURBED_SCHEDULES,
    MORE_WILD,
    WILD_SCHEDULES,
    check_disturbed,
    check_wild,
    simulated_experiment,
)


def test_in_thousands_of_schedules(tmp_path: Path) -> None:
    check_disturbed(simulated_experiment(tmp_path), range(DISTURBED_SCHEDULES))


def test_in_thousands_more_of_what_can_happen(tmp_path: Path) -> None:
    check_wild(simulated_experiment(tmp_path), range(WILD_SCHEDULES, MORE_WILD))


@pytest.mark.torture
def test_in_a_million_schedules(tmp_path: Path) -> None:
    check_disturbed(simulated_experiment(tmp_path), range(DISTURBED_SCHEDULES, 500_000))
