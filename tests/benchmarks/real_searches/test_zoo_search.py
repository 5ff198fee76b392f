"""The zoo's own search ends by the budget, and what won is trained by the zoo."""

from pathlib import Path

import pytest


@pytest.mark.slow
def test_it_searches_and_trains_what_won(tmp_path: Path) -> None:
    pytest.importorskip("rl_zoo3")
    from benchmarks.real_searches.records import Task, Terms
    from benchmarks.real_searches.zoo_search import search, trained_and_rated

    won = search(Task("env:CartPole-v1", 0, Terms(0.0, 2000, 2, 0, 1, 12_000), tmp_path))
    assert won.library == "rl-zoo3"
    assert won.trained_steps >= 12_000
    assert 8.0 < trained_and_rated("CartPole-v1", won, 1, range(3)) <= 500.0
