"""Our search with its defaults: what `python -m tuning.run --budget TIME` does; and the default preset alone.

PPO's values of `planned`, with which it starts on several homes, are of a search on other homes than those of the comparison.
"""

import time
from dataclasses import replace

from benchmarks.real_searches.experiments import best_evaluated, recommended
from benchmarks.real_searches.records import RealSearchError, Task, Winner
from benchmarks.real_searches.sites import environment_of
from tuning.experiment.settings import Settings
from tuning.search.run.opening import Checked

EPISODES = 10  # of an evaluation in an environment, for all methods


def settings(task: Task) -> Settings:
    """Settings that all searches over our trainable begin with; the budget is missing."""
    same = Settings(
        steps=task.terms.steps, evaluations=task.terms.evaluations, seed=task.seed, set=(task.fixed,) if task.fixed else (),
        dir=str(task.folder), name="search", concurrency=task.terms.cores,
    )  # fmt: skip
    if env := environment_of(task.scenario):
        return replace(same, env=env, episodes=EPISODES, trust_scenario=True)
    return replace(same, scenario=task.scenario, validation_weeks=task.terms.validation_weeks)


def prepared_seconds(checked: Checked, seconds: float) -> float:
    """Prepare what policies of a search may see beside the observations, such as plans; returns the time that it took.

    Ray is running. The site itself has been prepared before, so without more to see there is nothing to do.

    Args:
        checked: the search.
        seconds: of the whole search; 0 where its budget is one of steps.

    Raises:
        RealSearchError: if it took all of them.
    """
    from rich.console import Console

    from tuning.search.proposals.plan import seen_by
    from tuning.search.run.preparation import prepare

    if checked.settings.env:
        return 0.0
    started = time.perf_counter()
    prepare(
        checked.settings.site_task, Console(force_terminal=False), seens=seen_by(checked.plan, checked.settings.aim.weights)
    )
    taken = time.perf_counter() - started
    if seconds and taken >= seconds:
        raise RealSearchError(f"--budget: preparing plans took {taken:.0f} s, which is all of it; give more")
    return taken


def search(task: Task) -> Winner:
    """Search, and take what was confirmed. What policies see is prepared within the search's time."""
    from rich.console import Console

    from tuning.runtime.ray_session import ray_session
    from tuning.search.run.opening import check_new
    from tuning.search.tune import tune

    with ray_session(num_cpus=task.terms.cores):
        taken = prepared_seconds(check_new(settings(task)), task.terms.seconds)
        results = tune(replace(settings(task), budget=task.terms.budget(taken)), console=Console(force_terminal=False))
    return replace(recommended(results.folder), prepared_seconds=taken)


def settings_alone(task: Task) -> Settings:
    """Settings of the default preset alone."""
    return replace(settings(task), preset="default", budget=task.terms.budget())


def search_alone(task: Task) -> Winner:
    """Train the default with one seed after another, each up to the most steps, as many at once as the search has cores.

    The best evaluation of them all wins, as if each had left a checkpoint.
    """
    from rich.console import Console

    from tuning.runtime.ray_session import ray_session
    from tuning.search.tune import tune

    with ray_session(num_cpus=task.terms.cores):
        results = tune(settings_alone(task), console=Console(force_terminal=False))
    return best_evaluated(results.folder)
