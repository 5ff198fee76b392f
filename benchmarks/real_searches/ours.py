"""Our search with its defaults: what `python -m tuning.run --budget TIME` does."""

import time

from benchmarks.real_searches.experiments import confirmed_or_best
from benchmarks.real_searches.methods import Task
from benchmarks.real_searches.records import RealSearchError, Winner
from tuning.experiment.settings import Settings


def settings(task: Task) -> Settings:
    """Settings of the search, but for its budget."""
    return Settings(
        scenario=task.scenario, steps=task.terms.steps, reports=task.terms.reports, seed=task.seed,
        validation_weeks=task.terms.validation_weeks, set=(task.fixed,) if task.fixed else (), dir=str(task.folder),
        name="search", concurrency=task.terms.cores,
    )  # fmt: skip


def search(task: Task) -> Winner:
    """Search, and take what was confirmed.

    What policies see beside the observations is prepared within the search's time.

    Raises:
        RealSearchError: if preparing took all of it.
    """
    from dataclasses import replace

    from rich.console import Console

    from tuning.runtime.ray_session import ray_session
    from tuning.search.opening import check_new
    from tuning.search.plan import seen_by
    from tuning.search.tune import tune

    console = Console(force_terminal=False)
    with ray_session(num_cpus=task.terms.cores):
        from tuning.search.preparation import prepare

        checked = check_new(settings(task))
        started = time.perf_counter()
        prepare(checked.scenario, console, seens=seen_by(checked.plan, checked.settings.aim.weights))
        prepared = time.perf_counter() - started
        if prepared >= task.terms.seconds:
            raise RealSearchError(f"--budget: preparing plans took {prepared:.0f} s, which is all of it; give more")
        results = tune(replace(settings(task), budget=f"{task.terms.seconds - prepared:.3f}s"), console=console)
    return replace(confirmed_or_best(results.folder), prepared_seconds=prepared)
