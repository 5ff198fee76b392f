"""Ray Tune's OptunaSearch and ASHAScheduler with their defaults, over Stable-Baselines3's PPO and the zoo's space."""

from typing import Any

import optuna
from ray.tune import Callback

from benchmarks.real_searches import zoo
from benchmarks.real_searches.ray_tune import EVALUATION, SCORE, SpentSteps, claimed_number
from benchmarks.real_searches.records import RealSearchError, Task, Winner
from benchmarks.real_searches.sb3_search import trial_seed

STEPS = "steps"


def run_drawn(config: dict[str, Any], task: Task) -> None:
    """Trainable: one training, which reports each evaluation."""
    import torch
    from ray import tune

    from benchmarks.real_searches.sb3_training import Evaluated, Evaluations, model_of, rating_env

    torch.set_num_threads(1)
    terms = task.terms

    def on_evaluated(evaluated: Evaluated) -> bool:
        tune.report({SCORE: evaluated.score, EVALUATION: evaluated.number, STEPS: evaluated.steps})
        return True

    env = rating_env(task.scenario, "validation", terms.validation_weeks)
    callback = Evaluations(env, terms.steps, terms.evaluations, on_evaluated, lambda: False)
    model = model_of(task.scenario, config, trial_seed(task.seed, claimed_number(task.folder)))
    # More than enough: the last evaluation ends it.
    model.learn(10 * terms.steps + 1_000_000, callback=callback)


class Told(Callback):
    """Keeps each evaluation that trials tell of, and the assignment."""

    def __init__(self) -> None:
        self.evaluated: list[tuple[float, int, dict[str, Any]]] = []

    def on_trial_result(self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **_: Any) -> None:
        """Keep it."""
        self.evaluated.append((result[SCORE], result[STEPS], dict(trial.config)))


def draw(trial: optuna.Trial) -> None:
    """Draw as the zoo does."""
    zoo.sampled(trial)


def search(task: Task) -> Winner:
    """Search until the budget is spent; the best evaluation wins, at whatever time of its trial.

    Raises:
        RealSearchError: if nothing was evaluated.
    """
    from ray import tune
    from ray.tune.schedulers import ASHAScheduler
    from ray.tune.search.optuna import OptunaSearch

    from tuning.runtime.ray_session import ray_session

    terms = task.terms
    spent, told = SpentSteps(terms.total_steps), Told()
    with ray_session(num_cpus=terms.cores):
        tuner = tune.Tuner(
            tune.with_resources(tune.with_parameters(run_drawn, task=task), {"cpu": 1}),
            tune_config=tune.TuneConfig(
                search_alg=OptunaSearch(draw, metric=SCORE, mode="max", seed=task.seed),
                scheduler=ASHAScheduler(time_attr=EVALUATION, metric=SCORE, mode="max", max_t=terms.evaluations),
                num_samples=-1,
                max_concurrent_trials=terms.cores,
                time_budget_s=terms.seconds or None,
                reuse_actors=True,
            ),
            run_config=tune.RunConfig(name="tune", storage_path=str(task.folder), verbose=1, stop=spent, callbacks=[told]),
        )
        results = tuner.fit()
    if not told.evaluated:
        raise RealSearchError("ray-sb3: nothing was evaluated within the budget; give a larger --budget, or fewer --steps")
    score, steps, config = max(told.evaluated, key=lambda each: each[0])
    return Winner(
        "stable-baselines3", config, steps, terms.steps, score, len(results), len(told.evaluated), spent.steps
    )  # fmt: skip
