"""The zoo's own search ends by the budget, and what won is trained by the zoo."""

from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.parametrize(("env", "least", "most"), [("CartPole-v1", 8.0, 500.0), ("examples.pump:make", -1e5, 0.0)])
def test_it_searches_and_trains_what_won(env: str, least: float, most: float, tmp_path: Path) -> None:
    pytest.importorskip("rl_zoo3")
    from benchmarks.real_searches.records import Task, Terms
    from benchmarks.real_searches.zoo_search import search, trained_and_rated

    won = search(Task(f"env:{env}", 0, Terms(0.0, 2000, 2, 0, 1, 12_000), tmp_path))
    assert won.library == "rl-zoo3"
    assert won.trained_steps >= 12_000
    assert least < trained_and_rated(env, won, 1, range(3), 2) <= most
