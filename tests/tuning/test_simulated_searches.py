"""Whatever happens to a search, each trial ends once, and nothing is lost, counted twice or overspent."""

from pathlib import Path

import pytest

from tests.tuning.simulated import MORE_WILD, WILD_SCHEDULES, check_wild, simulated_experiment


def test_in_thousands_of_schedules(tmp_path: Path) -> None:
    check_wild(simulated_experiment(tmp_path), range(WILD_SCHEDULES))


@pytest.mark.torture
def test_in_a_million_schedules(tmp_path: Path) -> None:
    check_wild(simulated_experiment(tmp_path), range(MORE_WILD, 500_000))
