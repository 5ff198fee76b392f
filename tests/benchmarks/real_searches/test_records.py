"""Terms say when a search has spent its budget, of time or of steps."""

from benchmarks.real_searches.__main__ import Options
from benchmarks.real_searches.ray_tune import SpentSteps
from benchmarks.real_searches.records import Terms


def test_a_budget_is_one_of_time_or_of_steps() -> None:
    of_time, of_steps = Options(budget="2m", cores=1).terms, Options(budget="600k", cores=1).terms
    assert (of_time.seconds, of_time.total_steps) == (120.0, 0)
    assert (of_steps.seconds, of_steps.total_steps) == (0.0, 600_000)
    assert [of_time.is_over(seconds, 10**9) for seconds in (119.0, 120.0)] == [False, True]
    assert [of_steps.is_over(1e9, steps) for steps in (599_999, 600_000)] == [False, True]
    assert (of_time.budget(20.0), of_steps.budget(20.0)) == ("100.000s", "600000")


def test_ray_tune_stops_once_its_trials_took_all_steps_together() -> None:
    spent = SpentSteps(Terms(0.0, 100, 2, 0, 1, 150).total_steps)
    for trial, steps in (("a", 50), ("a", 100), ("b", 40)):
        assert not spent(trial, {"steps": steps})
    assert not spent.stop_all()
    spent("b", {"steps": 50})
    assert (spent.steps, spent.stop_all()) == (150, True)
    assert not SpentSteps(0).stop_all()
