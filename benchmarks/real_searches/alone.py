"""The default preset alone: one trial after another, each up to the most steps, each with its own seed.

As many trials run at once as the search has cores. The best evaluation of them all wins, as if each had left a checkpoint.
"""

from dataclasses import replace

from benchmarks.real_searches import ours
from benchmarks.real_searches.experiments import best_evaluated
from benchmarks.real_searches.records import Task, Winner
from tuning.experiment.settings import Settings


def settings(task: Task) -> Settings:
    """Settings of the search."""
    return replace(ours.settings(task), preset="default", budget=f"{task.terms.seconds:.3f}s")


def search(task: Task) -> Winner:
    """Train the default with one seed after another."""
    from rich.console import Console

    from tuning.runtime.ray_session import ray_session
    from tuning.search.tune import tune

    with ray_session(num_cpus=task.terms.cores):
        results = tune(settings(task), console=Console(force_terminal=False))
    return best_evaluated(results.folder)
